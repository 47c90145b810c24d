# What first gradients need, compiled with the package: without this, the first one takes seconds.

using PrecompileTools: @compile_workload

function recurrence(x)
    b = Buffer(x)
    for i in 2:length(x)
        b[i] = b[i-1] * b[i] + x[i]
    end
    b[1:2] .= view(x, 1:2) .* 2
    return sum(copy(b))
end

function first_gradients(x, A)
    gradient(x -> sum(abs2, x), x)
    gradient((A, x) -> sum(abs2, tanh.(A * x)), A, x)
    gradient(x -> sum(x .* x .+ 2 .* x) + sum(sin, x) + x[1] * exp(x[end]), x)
    gradient(recurrence, x)
    value, back = pullback((A, x) -> A * x, A, x)
    back(value)
end

@compile_workload begin
    first_gradients([1.0, 2.0, 3.0], [1.0 2.0 3.0; 4.0 5.0 6.0])
end

# Entries need a Python to run: these are only compiled.
for entry in (Python.call, Python.value_and_gradient, Python.pullback, Python.pull, Python.fetch, Python.give_up)
    precompile(entry, (Int, Ptr{Cvoid}))
end
