# Values of globals that a function keeps.
#
# Zygote reads a global where its value is used: after `a = total; total = 2a`, `a` is the new one. So does IRTools with
# the values that Julia 1.12 reads ahead of a call. Here such a read is a call, which stays where it is, on the way there and on the way
# back (transform.jl).

"""A value that is read here and nowhere else."""
@inline kept_value(x) = x
Zygote._pullback(::Context, ::typeof(kept_value), x) = x, Δ -> (nothing, Δ)

"""
Make calls of the reads at the `places` in the code of a function.
"""
function keep_globals!(code::Core.CodeInfo, places)
    statements = code.code
    for k in places
        x = statements[k]
        statements[k] = x isa GlobalRef ? reading(x) : Expr(:(=), x.args[1], reading(x.args[2]))
    end
end

reading(x::GlobalRef) = Expr(:call, GlobalRef(@__MODULE__, :kept_value), x)

"""Where code reads globals that are no constants, and keeps the values: in variables, or over a call."""
function kept_globals(code::Core.CodeInfo, world)
    statements = code.code
    return filter(eachindex(statements)) do k
        x = statements[k]
        is_kept(x, k, statements) && !is_constant(x isa GlobalRef ? x : x.args[2], world)
    end
end

# The world is that of the code, not the generator's, for which names do not exist that came later.
is_constant(x::GlobalRef, world) = Core._call_in_world_total(world, isconst, x.mod, x.name)

is_kept(x, k, statements) = false
is_kept(x::GlobalRef, k, statements) = is_kept(Core.SSAValue(k), statements)
is_kept(x::Expr, k, statements) = x.head === :(=) && x.args[1] isa Core.SlotNumber && x.args[2] isa GlobalRef

"""Whether a value goes into a variable, or is used after something that may assign it: another call, or an assignment to a global."""
function is_kept(value::Core.SSAValue, statements)
    for k in value.id+1:length(statements)
        x = statements[k]
        x isa Expr && x.head === :(=) && x.args[2] === value && return true
        called = x isa Expr && x.head === :(=) ? x.args[2] : x
        value in operands(called) && any(may_assign, view(statements, value.id+1:k-1)) && return true
    end
    return false
end

may_assign(x) = x isa Expr && (x.head === :call || x.head === :(=) && (x.args[1] isa GlobalRef || may_assign(x.args[2])))

operands(x) = ()
operands(x::Expr) = x.args
operands(x::Core.ReturnNode) = isdefined(x, :val) ? (x.val,) : ()
operands(x::Core.GotoIfNot) = (x.cond,)
