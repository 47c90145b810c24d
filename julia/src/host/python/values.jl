# Julia's values as Python objects: arrays of NumPy's, numbers, tuples, dictionaries, and wrappers for the rest.

const Number64 = Union{Float16,Float32,Float64,ComplexF32,ComplexF64}
const Element = Union{Number64,Bool,Int8,Int16,Int32,Int64,UInt8,UInt16,UInt32,UInt64}

letter(::Type{Float64}) = "d"
letter(::Type{Float32}) = "f"
letter(::Type{Float16}) = "e"
letter(::Type{ComplexF64}) = "D"
letter(::Type{ComplexF32}) = "F"
letter(::Type{Bool}) = "?"
letter(::Type{Int8}) = "b"
letter(::Type{Int16}) = "h"
letter(::Type{Int32}) = "i"
letter(::Type{Int64}) = "q"
letter(::Type{UInt8}) = "B"
letter(::Type{UInt16}) = "H"
letter(::Type{UInt32}) = "I"
letter(::Type{UInt64}) = "Q"

"The number that NumPy's C interface gives a type of elements (`NPY_TYPES`); int32 or int64 is its `long`."
number_of_type(::Type{Bool}) = Cint(0)
number_of_type(::Type{Int8}) = Cint(1)
number_of_type(::Type{UInt8}) = Cint(2)
number_of_type(::Type{Int16}) = Cint(3)
number_of_type(::Type{UInt16}) = Cint(4)
number_of_type(::Type{Int32}) = Cint(sizeof(Clong) == 4 ? 7 : 5)
number_of_type(::Type{UInt32}) = Cint(sizeof(Clong) == 4 ? 8 : 6)
number_of_type(::Type{Int64}) = Cint(sizeof(Clong) == 8 ? 7 : 9)
number_of_type(::Type{UInt64}) = Cint(sizeof(Clong) == 8 ? 8 : 10)
number_of_type(::Type{Float32}) = Cint(11)
number_of_type(::Type{Float64}) = Cint(12)
number_of_type(::Type{ComplexF32}) = Cint(14)
number_of_type(::Type{ComplexF64}) = Cint(15)
number_of_type(::Type{Float16}) = Cint(23)

"A new reference to the Python object that stands for a Julia value; arrays are copied."
to_python(x::Float64) = python_call(OBJECTS.float64, new_float(x))
to_python(x::Int64) = new_integer(x)
to_python(x::Bool) = new_bool(x)
to_python(::Nothing) = new_none()
to_python(x::String) = new_string(x)
to_python(x::Tuple) = new_tuple(PyPtr[to_python(part) for part in x])
to_python(x::Element) = python_call(OBJECTS.new_number, in_numpy(fill(x)))
to_python(x::AbstractArray{<:Element}) = in_numpy(dense(x))
to_python(x::AbstractArray) = abstract_array(x)
to_python(x) = python_call(OBJECTS.opaque, new_integer(keep!(x)))

function to_python(x::NamedTuple)
    made = failing(ccall(C.PyDict_New, PyPtr, ()))
    for (name, part) in pairs(x)
        key, value = new_string(String(name)), to_python(part)
        ccall(C.PyDict_SetItem, Cint, (PyPtr, PyPtr, PyPtr), made, key, value)
        release(key)
        release(value)
    end
    return made
end

"Arrays of abstract element type whose elements all are of one number type are dense arrays as well."
function abstract_array(x::AbstractArray)
    isempty(x) && return python_call(OBJECTS.opaque, new_integer(keep!(x)))
    T = mapreduce(typeof, promote_type, x)
    T <: Element && return to_python(convert(AbstractArray{T}, x))
    return python_call(OBJECTS.opaque, new_integer(keep!(x)))
end

dense(x::Array) = x
function dense(x::AbstractArray{T,N}) where {T,N}
    issparse(x) && length(x) * sizeof(T) > LARGEST && throw(TooLarge(size(x)))
    return copyto!(Array{T,N}(undef, size(x)), x)
end

"Bytes of the largest array that a sparse one becomes."
const LARGEST = 1 << 30

"A sparse result of this size has too many zeros for NumPy."
struct TooLarge <: Exception
    size::Dims
end
Base.showerror(io::IO, e::TooLarge) = print(io, "a sparse result of size ", e.size, " is too large for a dense array")

"A new NumPy array (Fortran's order) with the contents of `x`."
function in_numpy(x::Array{T,N}) where {T,N}
    made = failing(ccall(
        C.PyArray_New, PyPtr, (PyPtr, Cint, Ref{NTuple{N,Int}}, Cint, Ptr{Int}, Ptr{Cvoid}, Cint, Cint, PyPtr),
        OBJECTS.ndarray, N, size(x), number_of_type(T), C_NULL, C_NULL, 0, FORTRANS_ORDER, C_NULL,
    ))
    isempty(x) || copy_into(made, x)
    return made
end

"What NumPy's `PyArray_New` takes for the order of an array whose memory it makes."
const FORTRANS_ORDER = Cint(1)

function copy_into(array::PyPtr, x::Array)
    info = Ref(BufferInfo())
    status = ccall(C.PyObject_GetBuffer, Cint, (PyPtr, Ref{BufferInfo}, Cint), array, info, STRIDES_AND_FORMAT)
    status == 0 || throw(PythonException())
    GC.@preserve x unsafe_copyto!(Ptr{UInt8}(info[].memory), bytes_in(x), sizeof(x))
    ccall(C.PyBuffer_Release, Cvoid, (Ref{BufferInfo},), info)
    return
end

"A NumPy array on the memory of `x`, which lives as long as that array."
function held(x::Array{T}) where {T}
    shape = new_tuple(map(new_integer, size(x)))
    address = new_integer(reinterpret(Int, pointer(x)))
    return python_call(OBJECTS.held_array, address, shape, new_string(letter(T)), new_integer(keep!(x)))
end
