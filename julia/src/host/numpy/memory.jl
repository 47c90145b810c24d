# Memory that NumPy owns: wrapped for the duration of a call, never kept.

const ELEMENTS = Dict{String,DataType}(
    "b1" => Bool, "i1" => Int8, "i2" => Int16, "i4" => Int32, "i8" => Int64, "u1" => UInt8, "u2" => UInt16,
    "u4" => UInt32, "u8" => UInt64, "f2" => Float16, "f4" => Float32, "f8" => Float64, "c8" => ComplexF32,
    "c16" => ComplexF64,
)

"The array of reversed shape `dims` at an address of NumPy's, in C order there; nothing is copied."
array(element::String, address::Integer, dims::Tuple) =
    unsafe_wrap(Array, Ptr{ELEMENTS[element]}(UInt(address)), Int.(dims))

"Write `value` into NumPy's memory: summed over axes along which `target` was broadcast, real if `target` is."
function write!(target::Array, value)
    value = unthunk(value)
    if value === nothing || value isa AbstractZero
        fill!(target, 0)
        return nothing
    end
    found = value isa Number ? fill(value) : collect(value)
    if size(found) != size(target)
        lengths(x) = filter(!=(1), collect(size(x)))
        spread = all(size(target, k) in (1, size(found, k)) for k in 1:max(ndims(found), ndims(target)))
        spread || lengths(found) == lengths(target) || throw(DimensionMismatch(
            "a cotangent has shape $(reverse(size(found))) for an input of shape $(reverse(size(target)))"))
        found = spread ? fitted(found, target) : reshape(found, size(target))
    end
    eltype(target) <: Real && eltype(found) <: Complex && (found = real(found))
    copyto!(target, found)
    return nothing
end
write!(target::Tuple, value) = foreach(k -> write!(target[k], part(value, k)), eachindex(target))
write!(::Nothing, value) = nothing

"Part `k` of a cotangent of several arrays."
part(::Union{Nothing,AbstractZero}, k) = nothing
part(value, k) = unthunk(value)[k]
