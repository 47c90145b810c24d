# Reads of a Buffer: values are copies, and their pullbacks add into the shadow.

using Base.Broadcast: broadcasted

const Numeric = Union{Number,AbstractArray{<:Number}}

Base.getindex(b::Buffer, i...) = getindex(value(b), i...)
Base.copy(b::Buffer) = Array(value(b))
Base.collect(b::Buffer) = Array(value(b))
Base.Array(b::Buffer) = Array(value(b))
Base.iterate(b::Buffer) = iterate(b, 1)
Base.iterate(b::Buffer, i::Int) = (a = value(b); 1 <= i <= length(a) ? (a[i], i + 1) : nothing)
Base.Broadcast.broadcastable(b::Buffer) = copy(b)

"""The pullback of a read of one element: add into the shadow."""
struct ScalarRead{R<:Root} <: Function
    root::R
    index::Int
    version::Int
end

@inline function (read::ScalarRead)(ct)
    r = read.root
    r.version == read.version || changed_behind("getindex", r.version - read.version)
    s = shadow(r)
    s[read.index] = plus(s[read.index], ct)
    return nothing
end
(::ScalarRead)(::Union{Nothing,AbstractZero}) = nothing

const ScalarIndex = Union{Integer,CartesianIndex}

@inline function ZygoteRules._pullback(cx::AContext, ::typeof(getindex), b::Buffer, i::ScalarIndex...)
    touch!(cx, b.r)
    conjugates(b.a) && return getindex(b, i...), element_read(cx, b, i)
    return getindex(b, i...), ScalarRead(b.r, scalar_index(b, i...), b.r.version)
end

# As Zygote reads `b[1]`: without the function between, whose transform costs more than the rule.
@inline ZygoteRules._pullback(cx::AContext, ::typeof(Zygote.literal_getindex), b::Buffer, ::Val{i}) where {i} =
    ZygoteRules._pullback(cx, getindex, b, i)

@inline scalar_index(b::Buffer, i::ScalarIndex...) = root_index(b, to_indices(value(b), i)...)
@inline scalar_index(b::Buffer{<:Any,N,<:Array{<:Any,N},<:Root{<:Any,N}}, i::Int) where {N} = i

"""The pullback of a read of a whole Buffer: add the cotangent into its shadow."""
struct Read{B<:Buffer} <: Function
    buffer::B
    version::Int
    what::String
end

function (read::Read)(ct)
    check_version(read.buffer, read.version, read.what)
    accumulate!(read.buffer, ct)
    return nothing
end
(::Read)(::Union{Nothing,AbstractZero}) = nothing

"""
    track_read(cx, b::Buffer, what) -> pullback

The pullback of a read of `b` as it is now.
"""
function track_read(cx, b::Buffer, what::String)
    touch!(cx, b.r)
    return Read(b, read_version(b), what)
end

function element_read(cx, b::Buffer, i)
    read = track_read(cx, view(b, i...), "getindex")
    return ct -> read(ct isa Number ? fill(ct) : ct)
end

ZygoteRules._pullback(cx::AContext, ::typeof(getindex), b::Buffer, i...) =
    getindex(b, i...), track_read(cx, view(b, i...), "getindex")
for f in (:copy, :collect, :Array)
    @eval ZygoteRules._pullback(cx::AContext, ::Core.Typeof($f), b::Buffer) = $f(b), track_read(cx, b, $(string(f)))
end

function ZygoteRules._pullback(cx::AContext, ::typeof(value), b::Buffer)
    read = track_read(cx, b, "value")
    entries = b.r.applied
    function value_pullback(ct)
        no_cotangent(ct) && return nothing
        length(b.r.places) == entries || throw(LostGradient("value(b) shares memory with a $(describe(b)) that was written \
            later: what was read before and after the write cannot be told apart. Use copy(b)."))
        return read(ct)
    end
    return stand_in(cx, copy(b)), value_pullback    # lazy cotangents would read the memory when it is another already
end

"""Note that `x` stands for the memory of a Buffer: a rule that wrote it would write a copy."""
stand_in(cx, x) = x
stand_in(cx::Context, x) = (Zygote.cache(cx)[x] = stand_in; x)
is_stand_in(cx, x) = false
is_stand_in(cx::Context, x) = (cache = cx.cache; cache !== nothing && get(cache, x, nothing) === stand_in)

# Views carry no cotangent of their own: what is read from them goes to the shadow.
for f in (:view, :transpose, :adjoint, :reshape, :vec, :selectdim)
    @eval ZygoteRules._pullback(cx::AContext, ::typeof($f), b::Buffer, i...) = $f(b, i...), ct -> refuse_cotangent(ct, $(string(f)))
end

function ZygoteRules._pullback(cx::AContext, ::typeof(iterate), b::Buffer, i::Int=1)
    1 <= i <= length(b) || return nothing, _ -> nothing
    x, back = ZygoteRules._pullback(cx, getindex, b, i)
    return (x, i + 1), ct -> ct === nothing ? nothing : back(ct[1])
end

# --- functions of arrays that read a Buffer without a copy, because their results share no memory with it

"""
    read_call(cx, f, args...) -> (value, back)

`f` of the arrays behind the Buffers among `args`. Only for functions whose result shares no memory with these, and
that run no code that might write the Buffers.
"""
function read_call(cx, f, args...)
    reads = map(x -> x isa Buffer ? track_read(cx, x, string(f)) : nothing, args)
    y, back = ZygoteRules._pullback(cx, f, map(x -> x isa Buffer ? value(x) : x, args)...)
    function read_call_pullback(ct)
        foreach(check_read, reads)
        cts = back(ct)
        cts === nothing && return nothing
        return (first(cts), map(hand_to_read, reads, Base.tail(cts))...)
    end
    return y, read_call_pullback
end

check_read(::Nothing) = nothing
check_read(read::Read) = check_version(read.buffer, read.version, read.what)

# A lazy cotangent reads the Buffer's memory, which is right now and will not be later.
hand_to_read(read::Read, ct) = read(Zygote.unthunk_tangent(ct))
hand_to_read(::Nothing, ct) = Zygote.unthunk_tangent(ct)

for f in (:(Base.sum), :(Base.prod), :(Base.maximum), :(Base.minimum), :(Base.extrema), :(LinearAlgebra.norm))
    @eval begin
        $f(b::Buffer; keywords...) = $f(value(b); keywords...)
        ZygoteRules._pullback(cx::AContext, ::typeof($f), b::Buffer) = read_call(cx, $f, b)
        ZygoteRules._pullback(cx::AContext, ::typeof(Core.kwcall), keywords, ::typeof($f), b::Buffer) =
            read_call(cx, Core.kwcall, keywords, $f, b)
    end
end
for f in (:sum, :prod, :maximum, :minimum)
    @eval Base.$f(f, b::Buffer; keywords...) = $f(f, copy(b); keywords...)
end

LinearAlgebra.dot(a::Buffer, b::Buffer) = dot(value(a), value(b))
LinearAlgebra.dot(a::Buffer, b::AbstractArray) = dot(value(a), b)
LinearAlgebra.dot(a::AbstractArray, b::Buffer) = dot(a, value(b))
ZygoteRules._pullback(cx::AContext, ::typeof(dot), a::Buffer, b::Buffer) = read_call(cx, dot, a, b)
ZygoteRules._pullback(cx::AContext, ::typeof(dot), a::Buffer, b::AbstractArray) = read_call(cx, dot, a, b)
ZygoteRules._pullback(cx::AContext, ::typeof(dot), a::AbstractArray, b::Buffer) = read_call(cx, dot, a, b)

for f in (:+, :-, :*, :/, :\)
    @eval begin
        Base.$f(a::Buffer, b::Buffer) = $f(value(a), value(b))
        Base.$f(a::Buffer, b::Numeric) = $f(value(a), b)
        Base.$f(a::Numeric, b::Buffer) = $f(a, value(b))
        ZygoteRules._pullback(cx::AContext, ::typeof($f), a::Buffer, b::Union{Buffer,Numeric}) = read_call(cx, $f, a, b)
        ZygoteRules._pullback(cx::AContext, ::typeof($f), a::Numeric, b::Buffer) = read_call(cx, $f, a, b)
    end
end

# Broadcasts of Julia's own functions, as Zygote has rules for. Others get copies from `broadcastable`.
for types in ((:Buffer,), (:Buffer, :Numeric), (:Numeric, :Buffer), (:Buffer, :Buffer))
    names = [Symbol(:x, k) for k in eachindex(types)]
    typed = [:($name::$type) for (name, type) in zip(names, types)]
    @eval ZygoteRules._pullback(cx::AContext, ::typeof(broadcasted), f::Function, $(typed...)) =
        broadcast_read(cx, f, $(names...))
end
ZygoteRules._pullback(cx::AContext, ::typeof(broadcasted), f::typeof(Base.literal_pow), ::typeof(^), b::Buffer, power::Val) =
    read_call(cx, broadcasted, f, ^, b, power)

function broadcast_read(cx, f, args...)
    of_julia(typeof(f)) && !may_return_argument(f) && return read_call(cx, broadcasted, f, args...)
    arrays, backs = unzip_pairs(map(x -> broadcast_operand(cx, x), args))
    y, back = ZygoteRules._pullback(cx, broadcasted, f, arrays...)
    function broadcast_pullback(ct)
        cts = back(ct)
        cts === nothing && return nothing
        return (nothing, cts[2], map((part, x) -> part(x), backs, Base.tail(Base.tail(cts)))...)
    end
    return y, broadcast_pullback
end

unzip_pairs(pairs::Tuple) = map(first, pairs), map(last, pairs)
broadcast_operand(cx, x) = x, identity
function broadcast_operand(cx, b::Buffer)
    read = track_read(cx, b, "broadcast")
    return copy(b), ct -> read(Zygote.unthunk_tangent(ct))
end

"""Functions that Zygote broadcasts to the very array that they are given, where it is real."""
may_return_argument(f) = f in (identity, real, conj)
