# The functions of CPython's stable C interface, and of NumPy's, that calls use, by the addresses that Python hands over.

const PyPtr = Ptr{Cvoid}

"Addresses of C functions and of the Python objects that results are made with; null until `start!`."
Base.@kwdef mutable struct Interface
    PyArray_New::Ptr{Cvoid} = C_NULL
    PyBool_FromLong::Ptr{Cvoid} = C_NULL
    PyBuffer_Release::Ptr{Cvoid} = C_NULL
    PyComplex_ImagAsDouble::Ptr{Cvoid} = C_NULL
    PyComplex_RealAsDouble::Ptr{Cvoid} = C_NULL
    PyDict_New::Ptr{Cvoid} = C_NULL
    PyDict_SetItem::Ptr{Cvoid} = C_NULL
    PyErr_Clear::Ptr{Cvoid} = C_NULL
    PyErr_GivenExceptionMatches::Ptr{Cvoid} = C_NULL
    PyErr_Occurred::Ptr{Cvoid} = C_NULL
    PyErr_SetObject::Ptr{Cvoid} = C_NULL
    PyFloat_AsDouble::Ptr{Cvoid} = C_NULL
    PyFloat_FromDouble::Ptr{Cvoid} = C_NULL
    PyLong_AsLongLong::Ptr{Cvoid} = C_NULL
    PyLong_FromLongLong::Ptr{Cvoid} = C_NULL
    PyObject_CallObject::Ptr{Cvoid} = C_NULL
    PyObject_GetBuffer::Ptr{Cvoid} = C_NULL
    PyTuple_GetItem::Ptr{Cvoid} = C_NULL
    PyTuple_New::Ptr{Cvoid} = C_NULL
    PyTuple_SetItem::Ptr{Cvoid} = C_NULL
    PyTuple_Size::Ptr{Cvoid} = C_NULL
    PyUnicode_AsUTF8AndSize::Ptr{Cvoid} = C_NULL
    PyUnicode_FromStringAndSize::Ptr{Cvoid} = C_NULL
    Py_DecRef::Ptr{Cvoid} = C_NULL
    Py_IncRef::Ptr{Cvoid} = C_NULL
end

const C = Interface()

"Python objects that results are made with, kept alive by Python: `None`, types, and callables."
Base.@kwdef mutable struct Objects
    none::PyPtr = C_NULL
    failed::PyPtr = C_NULL
    ndarray::PyPtr = C_NULL
    new_number::PyPtr = C_NULL
    held_array::PyPtr = C_NULL
    opaque::PyPtr = C_NULL
    float64::PyPtr = C_NULL
    exception::PyPtr = C_NULL
    returned::PyPtr = C_NULL
end

const OBJECTS = Objects()

"A Python exception is set; it travels through Julia as this."
struct PythonException <: Exception end
Base.showerror(io::IO, ::PythonException) = print(io, "PythonException: Python raised an exception")

"Names of the C functions, in the order in which `start!` takes their addresses."
function_names() = join(fieldnames(Interface), " ")

"Names of the Python objects, in the order in which `start!` takes their addresses."
object_names() = join(fieldnames(Objects), " ")

"Take over the addresses that Python hands over, separated by blanks; returns those of our entries."
function start!(functions::AbstractString, objects::AbstractString)
    for (name, address) in zip(fieldnames(Interface), split(functions))
        setfield!(C, name, Ptr{Cvoid}(parse(UInt, address)))
    end
    for (name, address) in zip(fieldnames(Objects), split(objects))
        setfield!(OBJECTS, name, PyPtr(parse(UInt, address)))
    end
    return join((string(name, "=", UInt(address)) for (name, address) in pairs(entries())), " ")
end

failing(p::PyPtr) = p == C_NULL ? throw(PythonException()) : p
exception_set() = ccall(C.PyErr_Occurred, PyPtr, ()) != C_NULL

retain(p::PyPtr) = (ccall(C.Py_IncRef, Cvoid, (PyPtr,), p); p)
release(p::PyPtr) = ccall(C.Py_DecRef, Cvoid, (PyPtr,), p)

tuple_size(p::PyPtr) = ccall(C.PyTuple_Size, Int, (PyPtr,), p)
tuple_item(p::PyPtr, i::Integer) = failing(ccall(C.PyTuple_GetItem, PyPtr, (PyPtr, Int), p, i - 1))

"A new Python tuple of `items`, whose references it takes over."
function new_tuple(items::Union{Vector{PyPtr},Tuple{Vararg{PyPtr}}})
    made = failing(ccall(C.PyTuple_New, PyPtr, (Int,), length(items)))
    for (i, item) in enumerate(items)
        ccall(C.PyTuple_SetItem, Cint, (PyPtr, Int, PyPtr), made, i - 1, item)
    end
    return made
end
new_tuple(items::PyPtr...) = new_tuple(items)

"What the Python callable gives for arguments whose references are taken over."
function python_call(callable::PyPtr, arguments::PyPtr...)
    packed = new_tuple(arguments)
    result = ccall(C.PyObject_CallObject, PyPtr, (PyPtr, PyPtr), callable, packed)
    release(packed)
    return failing(result)
end

new_none() = retain(OBJECTS.none)
new_integer(x::Integer) = failing(ccall(C.PyLong_FromLongLong, PyPtr, (Clonglong,), x))
new_float(x::Real) = failing(ccall(C.PyFloat_FromDouble, PyPtr, (Cdouble,), x))
new_bool(x::Bool) = ccall(C.PyBool_FromLong, PyPtr, (Clong,), x)
new_string(x::String) =
    failing(ccall(C.PyUnicode_FromStringAndSize, PyPtr, (Ptr{UInt8}, Int), x, sizeof(x)))

function float_of(p::PyPtr)
    x = ccall(C.PyFloat_AsDouble, Cdouble, (PyPtr,), p)
    x == -1.0 && exception_set() && throw(PythonException())
    return x
end

function integer_of(p::PyPtr)
    x = ccall(C.PyLong_AsLongLong, Clonglong, (PyPtr,), p)
    x == -1 && exception_set() && throw(PythonException())
    return Int64(x)
end

complex_of(p::PyPtr) = complex(
    ccall(C.PyComplex_RealAsDouble, Cdouble, (PyPtr,), p), ccall(C.PyComplex_ImagAsDouble, Cdouble, (PyPtr,), p)
)

function string_of(p::PyPtr)
    size = Ref{Int}(0)
    bytes = ccall(C.PyUnicode_AsUTF8AndSize, Ptr{UInt8}, (PyPtr, Ref{Int}), p, size)
    bytes == C_NULL && throw(PythonException())
    return unsafe_string(bytes, size[])
end
