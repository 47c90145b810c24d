# NumPy's memory as Julia arrays: wrapped where layout allows and size pays, copied otherwise.

"CPython's `Py_buffer`, field by field."
struct BufferInfo
    memory::Ptr{Cvoid}
    owner::PyPtr
    bytes::Int
    itemsize::Int
    readonly::Cint
    ndim::Cint
    format::Ptr{UInt8}
    shape::Ptr{Int}
    strides::Ptr{Int}
    suboffsets::Ptr{Int}
    internal::Ptr{Cvoid}
end
BufferInfo() = BufferInfo(C_NULL, C_NULL, 0, 0, 0, 0, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL)

const STRIDES_AND_FORMAT = Cint(0x0018 | 0x0004)

"Arrays up to this many bytes are copied into Julia: dearer to wrap, and free to keep."
const SMALL = 16 * 1024

"A Julia array that stands for a NumPy array, and what is needed to see whether it was written."
struct Entering
    value::Any          # what the function gets: the array, its transpose, or a permuted view
    base::Array         # the memory below `value`
    memory::Ptr{Cvoid}  # NumPy's memory; null if it is empty
    copied::Bool        # whether `base` is a copy of that memory
    bytes::Int          # how many there are in NumPy's memory
end

"`f(x)`, without dispatch where `x` is of a type that is met most."
@inline undispatched(f::F, x) where {F} =
    x isa Vector{Float64} ? f(x) : x isa Matrix{Float64} ? f(x) : x isa Transpose{Float64,Matrix{Float64}} ? f(x) : f(x)

"The leaf cannot be an array of Julia's as it lies; Python copies it or refuses it."
struct OtherLayout <: Exception end
Base.showerror(io::IO, ::OtherLayout) = print(io, "an array in a layout that Julia cannot wrap")

function element_type(format::Ptr{UInt8}, itemsize::Int)
    first = unsafe_load(format)
    first == UInt8('d') && return Float64
    first == UInt8('f') && return Float32
    (first == UInt8('@') || first == UInt8('=')) && return element_type(format + 1, itemsize)
    first == UInt8('Z') && return complex_type(unsafe_load(format, 2))
    first == UInt8('e') && return Float16
    first == UInt8('?') && return Bool
    signed = first in (UInt8('b'), UInt8('h'), UInt8('i'), UInt8('l'), UInt8('q'))
    unsigned = first in (UInt8('B'), UInt8('H'), UInt8('I'), UInt8('L'), UInt8('Q'))
    (signed || unsigned) || throw(OtherLayout())
    return integer_type(signed, itemsize)
end

function complex_type(letter::UInt8)
    letter == UInt8('d') && return ComplexF64
    letter == UInt8('f') && return ComplexF32
    throw(OtherLayout())
end

integer_type(signed::Bool, size::Int) =
    size == 8 ? (signed ? Int64 : UInt64) :
    size == 4 ? (signed ? Int32 : UInt32) :
    size == 2 ? (signed ? Int16 : UInt16) : (signed ? Int8 : UInt8)

"The array of a NumPy array or scalar; `borrow` small ones by a copy, `:own` all, `:share` none."
function entering(p::PyPtr, how::Symbol)
    info = Ref(BufferInfo())
    status = ccall(C.PyObject_GetBuffer, Cint, (PyPtr, Ref{BufferInfo}, Cint), p, info, STRIDES_AND_FORMAT)
    if status != 0
        ccall(C.PyErr_Clear, Cvoid, ())
        throw(OtherLayout())
    end
    try
        return described(p, info[], how)
    finally
        ccall(C.PyBuffer_Release, Cvoid, (Ref{BufferInfo},), info)
    end
end

function described(p::PyPtr, info::BufferInfo, how::Symbol)
    T = element_type(info.format, info.itemsize)
    return T === Float64 ? described(p, info, Float64, how) : described(p, info, T, how)
end

# What is met most has a call of its own, whose types are known when it is compiled: looking for them in each call is what took longest.
function described(p::PyPtr, info::BufferInfo, ::Type{T}, how::Symbol) where {T}
    n = Int(info.ndim)
    n == 1 && return described(p, info, T, Val(1), how)
    n == 2 && return described(p, info, T, Val(2), how)
    return described(p, info, T, Val(n), how)
end

function described(p::PyPtr, info::BufferInfo, ::Type{T}, ::Val{N}, how::Symbol) where {T,N}
    shape = ntuple(i -> unsafe_load(info.shape, i), Val(N))
    is_contiguous(info, N, true) && return fortran(p, info, T, shape, how)
    is_contiguous(info, N, false) || throw(OtherLayout())
    reversed = fortran(p, info, T, reverse(shape), how)
    return Entering(axes_reversed(reversed.base), reversed.base, reversed.memory, reversed.copied, info.bytes)
end

"Whether the memory is without gaps, in Fortran's order or in C's."
function is_contiguous(info::BufferInfo, n::Int, fortran::Bool)
    expected = info.itemsize
    for k in 1:n
        axis = fortran ? k : n + 1 - k
        length = unsafe_load(info.shape, axis)
        length == 0 && return true
        length == 1 || unsafe_load(info.strides, axis) == expected || return false
        expected *= length
    end
    return true
end

axes_reversed(a::AbstractMatrix) = transpose(a)
axes_reversed(a::AbstractArray{T,N}) where {T,N} = PermutedDimsArray(a, ntuple(i -> N + 1 - i, N))

function fortran(p::PyPtr, info::BufferInfo, ::Type{T}, shape::Dims{N}, how::Symbol) where {T,N}
    memory = Ptr{T}(info.memory)
    if info.bytes == 0
        base = Array{T,N}(undef, shape)
        return Entering(base, base, C_NULL, true, 0)
    end
    aligned = UInt(memory) % min(Base.datatype_alignment(T), 16) == 0
    if how === :own || !aligned || (how === :borrow && info.bytes <= SMALL)
        how === :share && throw(OtherLayout())
        base = Array{T,N}(undef, shape)
        GC.@preserve base unsafe_copyto!(bytes_in(base), Ptr{UInt8}(info.memory), info.bytes)
        return Entering(base, base, info.memory, true, info.bytes)
    end
    base = unsafe_wrap(Array, memory, shape)
    hold_python!(base, p)
    return Entering(base, base, info.memory, false, info.bytes)
end

# Where an array's bytes lie. The assertion spares other packages' conversions to `Ptr`, whose loading would make Julia compile the
# callers again.
bytes_in(x::Array) = Ptr{UInt8}(pointer(x)::Ptr)

"The number in a NumPy scalar or 0-d array."
entering_number(p::PyPtr) = only(entering(p, :own).base)

"Whether the memory of an array still holds what NumPy's does."
unwritten(e::Entering) = !e.copied || undispatched(base -> is_copy(base, e.memory, e.bytes), e.base)::Bool
is_copy(x::Array, memory::Ptr{Cvoid}, bytes::Int) = sizeof(x) == bytes &&
    (bytes == 0 || GC.@preserve(x, ccall(:memcmp, Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t), bytes_in(x), memory, bytes)) == 0)

"Whether an array that is wrapped still is NumPy's memory, in the size that it had `before`."
lies_as(e::Entering, before::Array) = size(e.base) == size(before) && (isempty(before) || pointer(e.base) == e.memory)

"Put back into NumPy's memory, which is wrapped, what it held before."
write_back!(e::Entering, before::Array) =
    GC.@preserve before unsafe_copyto!(Ptr{UInt8}(e.memory), bytes_in(before), sizeof(before))

"A checksum of the bytes of an array that is wrapped; 0 for one that was copied."
checksum(e::Entering) = e.copied ? zero(UInt64) : GC.@preserve e checksum(bytes_in(e.base), sizeof(e.base))
