# Central differences for tests: gradients of real functions, and the comparison with MutationBridge's.

using MutationBridge, Test

"""Gradient of the real `f(x)` at an array of real numbers, by central differences of fourth order."""
function finite_gradient(f, x::AbstractArray{<:Real}; step = 1e-3)
    g = zeros(size(x))
    for i in eachindex(x)
        moved(h) = (z = float.(x); z[i] += h; f(z))
        g[i] = (8 * (moved(step) - moved(-step)) - (moved(2step) - moved(-2step))) / 12step
    end
    return g
end

"""
Whether the gradient of `f` at `x` is that of finite differences, the value is that of a plain run, `x` is untouched, and
a second call of the pullback gives the same.
"""
function right(f, x; atol = 1e-8)
    before = copy(x)
    plain = f(x)
    value, pull = MutationBridge.pullback(f, x)
    first_answer, second_answer = only(pull(1.0)), only(pull(1.0))
    expected = finite_gradient(f, x)
    given = first_answer === nothing ? zeros(size(x)) : first_answer
    agrees = isapprox(given, expected; atol, rtol = 1e-7)
    agrees || @info "gradients disagree" given expected
    return value === plain && agrees && isequal(first_answer, second_answer) && isequal(x, before)
end

"""The message of the error of type `E` that `run()` raises; a test fails if there is none."""
function message_of(run, E)
    try
        run()
    catch error
        @test error isa E
        return sprint(showerror, error)
    end
    @test "no error" == E
    return ""
end
