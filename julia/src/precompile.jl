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

# The forms that code takes, only to be read: Zygote and IRTools have methods of their own for each, which nobody else has compiled.
function forms(x, A, options...)
    n, m = Base.size(A)
    first, others = x[1], @view x[2:end]
    total = Base.sum(abs2, others; init=0.0)
    parts = (w=x, b=(first, 2.0))
    while n > 1 && total < 1e9
        total = total > 0 ? total + parts.w[n] : -total
        n -= 1
    end
    for (k, row) in enumerate(eachrow(A)), value in row
        isodd(k) || continue
        total += value * parts.b[2]^2
    end
    doubled = map(x) do value
        local y = value * total
        y + first
    end
    b = MutationBridge.Buffer(x)
    b[1] *= b[2]
    b[end] = MutationBridge.copy(b)[1]
    b .= A[1, :] .* x
    g(value) = value^2
    return (total + sum([g(value) for value in doubled]) + max(options...))::Float64
end

# A block that is jumped to gets the literals that a loop begins with, and IRTools' methods are of their types.
function begins_with_float(x)
    s = 0.0
    for i in eachindex(x)
        s += x[i]
    end
    return s
end

function begins_with_integer(x)
    count, last = 0, 1.0f0
    for value in x
        value > 0 || continue
        count += 1
        last = value
    end
    return count * last
end

function begins_with_nothing(x)
    seen, value = false, nothing
    for i in 1:length(x)
        if !seen && x[i] > 0
            seen, value = true, x[i]
        end
    end
    return value
end

function read_forms()
    x = Vector{Float64}
    read_code(forms, x, Matrix{Float64}, Float64)
    foreach(f -> read_code(f, x), (begins_with_float, begins_with_integer, begins_with_nothing))
end

function read_code(f, types...)
    world = Base.get_world_counter()
    forward_code(world, Context{Union{}}, typeof(f), types)
    backward_generator(world, LineNumberNode(0), WayBack{Tuple{typeof(f),types...},()}, Float64)
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
    read_forms()
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
for (asked, types) in (:is_name => (String,), :value_of_code => (String,), :title => (Int,), :callable => (Int,), :plan => (Int, Vararg{String}))
    precompile(Python.question, (Val{asked}, types...))
end
precompile(Python.question, (Val{:plan}, Int, String, String, Vararg{String}))
precompile(Session.start!, (Int, Int))
precompile(Session.evaluate, (Cstring,))
precompile(Session.signalled, ())
for T in (Bool, Int, Float64, String)
    precompile(Python.to_python, (T,))
end
