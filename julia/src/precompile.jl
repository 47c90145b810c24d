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

# What a Python process does first, but for what needs a Python.
function first_from_python(f, kinds, positional, wanted, leaves...)
    key = Python.question(Val(:again), Python.keep!(f))
    Python.question(Val(:is_name), "x -> sum(x)")
    Python.question(Val(:title), key)
    Python.question(Val(:callable), key)
    plan = Python.take!(Python.question(Val(:plan), key, kinds, positional, "", "", "", wanted, "", "", "auto"))
    done = Python.differentiated(plan, Python.Leaves(Any[leaves...], Pair{Int,Python.Entering}[]))
    Python.forget!(key)
    return done.value
end

@compile_workload begin
    first_gradients([1.0, 2.0, 3.0], [1.0 2.0 3.0; 4.0 5.0 6.0])
    first_look(x -> (x[1] = 2; sum(x)))
    Python.function_names(), Python.object_names()
    first_from_python(x -> sum(abs2, x .* 2), "a", "1 -1", "0", [1.0, 2.0, 3.0])
    first_from_python((A, x) -> sum(abs2, tanh.(A * x)), "aa", "2 -1 -1", "0 1", [1.0 2.0; 3.0 4.0], [1.0, 2.0])
    first_from_python(x -> sin(x) * exp(x), "f", "1 -1", "0", 0.5)
    empty!(Python.KEPT)
end

# Entries need a Python to run: these are only compiled.
for entry in (Python.ask, Python.call, Python.value_and_gradient, Python.pullback, Python.pull, Python.fetch, Python.give_up)
    precompile(entry, (Int, Ptr{Cvoid}))
end
precompile(Session.start!, (Int, Int))
precompile(Session.evaluate, (Cstring,))
precompile(Session.signalled, ())
for T in (Bool, Int, Float64, String)
    precompile(Python.to_python, (T,))
end
