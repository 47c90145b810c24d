# The functions that Python calls by address: a number and a tuple in, a new reference out.

"Call the function; arguments that it writes all the same are an error."
function call(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        leaves = entered(plan, given, borrowing(plan))
        result = unwritten_by(plan, leaves) do
            f, arguments = bound(plan, leaves.values)
            result = f(arguments...)
            check_sparse(plan, leaves.values, f, arguments)
            result
        end
        MutationBridge.poll()
        to_python(result)
    end
end

"Keep the NumPy array in the tuple as a Julia array; returns its number."
function keep_array(::Int, given::PyPtr)::PyPtr
    return guarded() do
        new_integer(keep!(entering(tuple_item(given, 1), :share).value))
    end
end

"The Python object for a kept value, which is given up."
function fetch(key::Int, ::PyPtr)::PyPtr
    return guarded(() -> to_python(take!(key)))
end

"Give up kept objects."
function give_up(key::Int, ::PyPtr)::PyPtr
    return guarded(() -> (forget!(key); new_none()))
end


"Names and addresses of the entries."
entries() = (
    ask=@cfunction(ask, PyPtr, (Int, PyPtr)),
    call=@cfunction(call, PyPtr, (Int, PyPtr)),
    call_writing=@cfunction(call_writing, PyPtr, (Int, PyPtr)),
    value_and_gradient=@cfunction(value_and_gradient, PyPtr, (Int, PyPtr)),
    pullback=@cfunction(pullback, PyPtr, (Int, PyPtr)),
    pull=@cfunction(pull, PyPtr, (Int, PyPtr)),
    jvp=@cfunction(jvp, PyPtr, (Int, PyPtr)),
    pull_along=@cfunction(pull_along, PyPtr, (Int, PyPtr)),
    jacobian=@cfunction(jacobian, PyPtr, (Int, PyPtr)),
    hessian=@cfunction(hessian, PyPtr, (Int, PyPtr)),
    keep_array=@cfunction(keep_array, PyPtr, (Int, PyPtr)),
    fetch=@cfunction(fetch, PyPtr, (Int, PyPtr)),
    give_up=@cfunction(give_up, PyPtr, (Int, PyPtr)),
)

for entry in (call, call_writing, value_and_gradient, pullback, pull, jvp, pull_along, jacobian, hessian, keep_array, fetch, give_up)
    precompile(entry, (Int, PyPtr))
end
precompile(start!, (String, String))
precompile(plan, (Any, String, String, String, String, String, String, String, String, String))
for T in (Float64, Float32), N in 0:2
    precompile(to_python, (Array{T,N},))
    precompile(conformed_to_python, (Plan, Int, Array{T,N}, Array{T,N}, Vector{UnitRange{UInt}}))
end
