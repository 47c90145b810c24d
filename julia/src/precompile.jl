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

# None of a user's functions is defined in this module, whose code is not looked into.
function first_look(f)
    found = Outside(f)
    look_into!(found, Base.uncompressed_ast(only(methods(f))))
    remembered = Remembered(Pair{Any,String}[[1.0] => "an array", Dict(1 => 2.0) => "a dictionary", Ref(1.0) => "a number"])
    again(() -> changed(remembered), remembered)
    return memory_of(found)
end

@compile_workload begin
    first_gradients([1.0, 2.0, 3.0], [1.0 2.0 3.0; 4.0 5.0 6.0])
    first_look(x -> (x[1] = 2; sum(x)))
end

# Entries need a Python to run: these are only compiled.
for entry in (Python.call, Python.value_and_gradient, Python.pullback, Python.pull, Python.fetch, Python.give_up)
    precompile(entry, (Int, Ptr{Cvoid}))
end
