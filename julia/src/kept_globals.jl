# Values of globals that a function keeps.
#
# Zygote reads a global where its value is used: after `a = total; total = 2a`, `a` is the new one. So does IRTools with
# the values that Julia 1.12 reads ahead of a call. Here such a read is a call, which stays where it is; since Zygote's way back reads
# the function again, without these calls, functions that have them get a way back of their own (transform.jl).

"""A value that is read here and nowhere else."""
@inline kept_value(x) = x
Zygote._pullback(::Context, ::typeof(kept_value), x) = x, Δ -> (nothing, Δ)

"""
Make calls of the reads of globals whose values are kept: in variables, or over a call. Whether there were any. It depends on nothing
but the code, so that the way there and the way back agree.
"""
function keep_globals!(code::Core.CodeInfo)
    statements = code.code
    rewritten = false
    for (k, x) in enumerate(statements)
        if x isa Expr && x.head === :(=) && x.args[1] isa Core.SlotNumber && x.args[2] isa GlobalRef
            statements[k] = Expr(:(=), x.args[1], reading(x.args[2]))
        elseif x isa GlobalRef && is_kept(Core.SSAValue(k), statements)
            statements[k] = reading(x)
        else
            continue
        end
        rewritten = true
    end
    return rewritten
end

reading(x::GlobalRef) = Expr(:call, GlobalRef(@__MODULE__, :kept_value), x)

"""Whether a value goes into a variable, or is an operand after another call. What is called is not asked: lowering reads all functions ahead."""
function is_kept(value::Core.SSAValue, statements)
    for k in value.id+1:length(statements)
        x = statements[k]
        x isa Expr && x.head === :(=) && x.args[2] === value && return true
        called = x isa Expr && x.head === :(=) ? x.args[2] : x
        value in operands(called) && any(is_call, view(statements, value.id+1:k-1)) && return true
    end
    return false
end

is_call(x) = x isa Expr && (x.head === :call || x.head === :(=) && is_call(x.args[2]))

operands(x) = ()
operands(x::Expr) = x.head === :call ? view(x.args, 2:length(x.args)) : x.args
operands(x::Core.ReturnNode) = isdefined(x, :val) ? (x.val,) : ()
operands(x::Core.GotoIfNot) = (x.cond,)

"""A pullback of a function of the type `first(T.parameters)` that keeps values of globals: what Zygote's `Pullback` is for others."""
struct KeptPullback{T,P}
    t::P
end
KeptPullback{T}(parts::P) where {T,P} = KeptPullback{T,P}(parts)
Base.show(io::IO, ::KeptPullback{T}) where {T} = print(io, "∂(", Zygote.funcname(first(T.parameters)), ")")
