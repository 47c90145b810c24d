# Buffers among the arguments of a differentiated function and in its value: their gradients are their shadows.

"""The Buffers in arguments: themselves, and in tuples, named tuples, arrays, dictionaries and structs."""
buffers_in(x) = may_reach_buffer(x) ? collect_buffers!(Buffer[], Base.IdSet{Any}(), x) : Buffer[]

collect_buffers!(found, seen, b::Buffer) = push!(found, b)
collect_buffers!(found, seen, x::Union{Tuple,NamedTuple}) = collect_all!(found, seen, x)
collect_buffers!(found, seen, x::AbstractDict) = collect_all!(found, seen, values(x))
collect_buffers!(found, seen, x::AbstractArray) =
    collect_all!(found, seen, (x[i] for i in eachindex(x) if may_reach_buffer_in(x) && isassigned(x, i)))
function collect_buffers!(found, seen, x::T) where {T}
    (!may_reach_buffer(x) || x in seen) && return found
    ismutabletype(T) && push!(seen, x)
    return collect_all!(found, seen, (getfield(x, k) for k in 1:fieldcount(T) if isdefined(x, k)))
end

function collect_all!(found, seen, xs)
    for x in xs
        collect_buffers!(found, seen, x)
    end
    return found
end

may_reach_buffer_in(x::AbstractArray) = type_may_reach_buffer(eltype(x))

"""What leaves: the value, with Arrays in place of Buffers, whose memory the sweep rewinds."""
outcome(y) = y
outcome(y::Buffer) = copy(y)
outcome(y::Union{Tuple,NamedTuple}) = map(outcome, y)

"""Put cotangents of Buffers in the value into their shadows; the rest is Zygote's."""
enter_buffers!(y, ct) = ct
enter_buffers!(y::Buffer, ct) = (accumulate!(y, ct); nothing)
enter_buffers!(y::Tuple, ct::Tuple) = map(enter_buffers!, y, ct)
enter_buffers!(y::NamedTuple, ct::NamedTuple{names}) where {names} =
    NamedTuple{names}(map(name -> enter_buffers!(y[name], ct[name]), names))

argument_cotangents(args::Tuple, ::Nothing) = map(x -> argument_cotangent(x, nothing), args)
argument_cotangents(args::Tuple, cts::Tuple) = map(argument_cotangent, args, Zygote.unthunk_tangent(Base.tail(cts)))

argument_cotangent(x, ct) = isempty(buffers_in(x)) ? Zygote._project(x, ct) : with_buffers(x, ct)

function argument_cotangent(x::Buffer, ct)
    refuse_cotangent(ct, "argument")
    return x.r.shadow === nothing ? nothing : Array(shadow(x))
end

part_cotangent(ct, key) = ct[key]
part_cotangent(::Nothing, key) = nothing
part_cotangent(ct::Union{NamedTuple,AbstractDict}, key) = get(ct, key, nothing)

with_buffers(x::Tuple, ct) = ntuple(k -> argument_cotangent(x[k], part_cotangent(ct, k)), length(x))
with_buffers(x::AbstractArray, ct) = [argument_cotangent(x[i], part_cotangent(ct, i)) for i in eachindex(x)]
with_buffers(x::AbstractDict, ct) = Dict(key => argument_cotangent(y, part_cotangent(ct, key)) for (key, y) in x)
with_buffers(x::NamedTuple{names}, ct) where {names} =
    NamedTuple{names}(map(name -> argument_cotangent(x[name], part_cotangent(ct, name)), names))

function with_buffers(x::T, ct) where {T}
    ismutabletype(T) && throw(ArgumentError("a gradient by a Buffer inside of a mutable $(nameof(T)) has no form; pass the \
        Buffer itself as an argument, or keep it in an immutable struct, a tuple, an array or a Dict"))
    names = fieldnames(T)
    return NamedTuple{names}(map(name -> argument_cotangent(getfield(x, name), part_cotangent(ct, name)), names))
end
