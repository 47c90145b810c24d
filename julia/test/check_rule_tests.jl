# `check_rule` is itself checked: wrong rules are found by code and words, right ones pass.

module CheckRuleTests

using MutationBridge, Test
using LinearAlgebra: dot
using MutationBridge: codes

const x0 = [0.7, -1.3, 2.1]
const y0 = [1.9, 0.4, -0.6]

failure(f!, args...; options...) = try
    check_rule(f!, args...; options...)
    nothing
catch error
    error isa RuleFailure || rethrow()
    error
end

"""Whether a wrong rule is found: exactly these codes, and these words in the message."""
function found(expected, words, f!, args...; variants = false, options...)
    error = failure(f!, args...; variants, options...)
    error === nothing && return false
    message = sprint(showerror, error)
    good = codes(error.report) == [expected...] && occursin(words, message)
    good || @info "found something else" nameof(f!) codes(error.report) message
    return good
end

square!(x) = (x .= x .^ 2; x)

@testset "the derivative" begin
    stale!(x) = (x .= x .^ 2; x)
    @mutating_rule stale!(x) writes(x) pull(ct, x; after) = 2 .* after .* ct
    @test found((:wrong_gradient, :wrong_in_context, :called_twice, :stale_input, :wrong_in_view),
        "`after` is the value after the call: read x, which holds the value from before it", stale!, x0)

    early!(x) = (x .= exp.(x); x)
    @mutating_rule early!(x) writes(x) pull(ct, x) = x .* ct
    @test found((:wrong_gradient, :wrong_in_context, :called_twice, :stale_input, :wrong_in_view),
        "in a pull x holds its value from before the call: ask for `after` instead", early!, x0)

    factor!(x) = (x .= x .^ 2; x)
    @mutating_rule factor!(x) writes(x) pull(ct, x) = 4 .* x .* ct
    @test found((:wrong_gradient, :wrong_in_context, :called_twice, :stale_input, :wrong_in_view), "are 2.0 times what they should be", factor!, x0)

    forgotten!(y, x) = (y .+= x; y)
    @mutating_rule forgotten!(y, x) writes(y) pull(ct, y, x) = ct
    @test found((:missing_cotangent, :wrong_in_context, :called_twice, :stale_input, :wrong_in_view),
        "the cotangent of x[1] is 0.0, finite differences give", forgotten!, y0, x0)

    identical!(x) = (x .*= 3; x)
    @mutating_rule identical!(x) writes(x) pull = identity
    @test found((:wrong_gradient, :wrong_in_context, :called_twice, :stale_input, :wrong_in_view), "are 0.3333333 times", identical!, x0)

    kept!(y, x) = (y .= x; y)
    @mutating_rule kept!(y, x) writes(y) pull(ct, y, x) = (ct, ct)
    @test found((:wrong_gradient, :wrong_in_context, :called_twice, :stale_input, :wrong_in_view), "the cotangent of y", kept!, y0, x0)
end

@testset "the contract" begin
    undeclared!(x, y) = (x .*= 2; y .+= 1; x)
    @mutating_rule undeclared!(x, y) writes(x) pull(ct, x, y) = (2 .* ct, nothing)
    @test found((:undeclared_mutation,), "writes its argument y, which its rule does not declare", undeclared!, x0, y0)

    random!(x) = (x .+= rand(3); x)
    @mutating_rule random!(x) writes(x) pull(ct, x) = ct
    @test found((:nondeterministic,), "leaves different values in x from call to call", random!, x0)

    short!(x, y) = (x .+= y; x)
    @mutating_rule short!(x, y) writes(x) pull(ct, x, y) = (ct,)
    @test found((:cotangent_count,), "returned 1 cotangents for 2 arguments", short!, x0, y0)

    raising!(x) = (x .*= 2; x)
    @mutating_rule raising!(x) writes(x) pull(ct, x) = x[4] .* ct
    @test found((:pull_raises,), "BoundsError", raising!, x0)

    unsummed!(x, a) = (x .*= a; x)
    @mutating_rule unsummed!(x, a) writes(x) pull(ct, x, a) = (a .* ct, x .* ct)
    @test found((:cotangent_shape,), "the cotangent of a has size (3,), but a has size ()", unsummed!, x0, 2.0)

    spoils_cotangent!(x) = (x .*= 2; x)
    @mutating_rule spoils_cotangent!(x) writes(x) pull(ct, x) = ct .*= 2
    @test found((:writes_arguments,), "the pull writes into the cotangent", spoils_cotangent!, x0)

    spoils_input!(x) = (x .= x .^ 2; x)
    @mutating_rule spoils_input!(x) writes(x) pull(ct, x) = (x .*= 2; x .* ct)
    @test found((:writes_arguments,), "the pull writes into x", spoils_input!, x0)

    counting = Ref(0)
    forgetful!(x) = (x .*= 2; x)
    @mutating_rule forgetful!(x) writes(x) pull(ct, x) = (counting[] += 1; counting[] .* ct)
    @test found((:not_repeatable,), "another result for the same arguments", forgetful!, x0)

    memory = zeros(3)
    sharing!(x) = (x .*= 2; x)
    @mutating_rule sharing!(x) writes(x) pull(ct, x) = memory .= 2 .* ct
    @test found((:shared_result,), "a second pull changes what the first one returned", sharing!, x0)

    affine!(x) = (x .*= 2; x)
    @mutating_rule affine!(x) writes(x) pull(ct, x) = 2 .* ct .+ 1
    @test found((:not_linear,), "not linear in the cotangent", affine!, x0)
end

@testset "in programs" begin
    seen = Ref(zeros(3))
    latest!(x) = (seen[] = copy(x); x .= x .^ 2; x)
    @mutating_rule latest!(x) writes(x) pull(ct, x) = 2 .* seen[] .* ct
    error = failure(latest!, x0; variants = false)
    @test :called_twice in codes(error.report)
    @test occursin("keep no state between calls", sprint(showerror, error))

    overlapping!(y, x) = (y .= 0; y .+= x; y)
    @mutating_rule overlapping!(y, x) writes(y) pull(ct, y, x) = (nothing, ct) aliases = true
    @test found((:ignores_alias,), "leave `aliases = true` out", overlapping!, y0, x0)

    other_value!(x::Vector) = (x .*= 2; x)
    other_value!(x::SubArray) = (x[1] *= 2; x)
    @mutating_rule other_value!(x) writes(x) pull(ct, x) = 2 .* ct
    report = check_rule(other_value!, x0; variants = false)
    @test any(contains("does something else on strided views"), report.notes)

    returning!(x) = (x .*= 2; sum(x))
    @mutating_rule returning!(x) writes(x) pull(ct, x) = 2 .* ct
    @test found((:raises_in_context,), "returned a Float64 that is none of its arguments", returning!, x0)
end

@testset "at harder arguments" begin
    divides!(x) = (x .= x .^ 2; x)
    @mutating_rule divides!(x) writes(x) pull(ct, x; after) = 2 .* conj.(after ./ x) .* ct
    @test found((:wrong_at_zero,), "with zeros: the cotangent of x[1] is NaN, finite differences give 0.0", divides!, x0; variants = true)

    conjugated!(x) = (x .= x .^ 2; x)
    @mutating_rule conjugated!(x) writes(x) pull(ct, x) = 2 .* x .* ct
    @test found((:wrong_complex,), "with complex arguments", conjugated!, x0; variants = true)

    needs_elements!(x) = (x .*= 2; x)
    @mutating_rule needs_elements!(x) writes(x) pull(ct, x) = (first(x); 2 .* ct)
    @test found((:wrong_empty,), "with empty arrays: the pull raises", needs_elements!, x0; variants = true)

    double_only!(x) = (x .= conj.(x) .* 1; x)
    @mutating_rule double_only!(x) writes(x) pull(ct, x) = conj.(ct) .* 1.0
    @test found((:wrong_dtype,), "the cotangent of x is Float64, but x is Float32", double_only!, x0; variants = true)
end

@testset "right rules pass, and the report says what was proved" begin
    @mutating_rule square!(x) writes(x) pull(ct, x) = 2 .* conj.(x) .* ct
    report = check_rule(square!, x0)
    @test isempty(report.failures)
    text = sprint(show, report)
    @test startswith(text, "check_rule of square!([0.7, -1.3, 2.1]): ")
    for name in ("pull with zeros", "pull with empty arrays", "pull with complex arguments", "pull with views", "Float32", "its result unused",
                 "called twice on the same arrays", "its arguments read before, overwritten after", "memory is restored, pulled twice", "plain arrays are refused")
        @test occursin(name, text)
    end
end

@testset "every failure is listed" begin
    careless!(x, y) = (x .*= y; x)
    @mutating_rule careless!(x, y) writes(x) pull(ct, x, y) = (ct .*= 2; y .+= 1; (ct, nothing))
    message = sprint(showerror, failure(careless!, x0, y0))
    @test startswith(message, "RuleFailure: check_rule of careless!([0.7, -1.3, 2.1], [1.9, 0.4, -0.6]): 2 failures, ")
    @test occursin("[writes_arguments]", message) && occursin("into the cotangent", message) && occursin("into y", message)
    @test occursin("    remedy: work on a copy", message)
end

@testset "wrong uses" begin
    undeclared(x) = x
    @test occursin("undeclared has no mutating rule for Vector{Float64}. Write one:", try check_rule(undeclared, x0) catch error; sprint(showerror, error) end)
    integers!(x) = (x .+= 1; x)
    @mutating_rule integers!(x) writes(x) pull = identity
    @test found((:no_inputs,), "has no floating-point argument", integers!, [1, 2])
end

end
