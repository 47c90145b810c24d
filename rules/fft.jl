# Fourier transforms: FFTW's, whose rules are those of AbstractFFTs.

const FFTW = loaded("FFTW")

"`x` cut, or filled up with zeros, to `n` elements along `d`."
function fitted_length(x, d, n)
    m = size(x, d)
    n === nothing || n == m && return x
    n === nothing && return x
    n < m && return getindex(x, key(x, d, 1:n)...)
    return cat(x, zeros(eltype(x), ntuple(k -> k == d ? n - m : size(x, k), ndims(x))); dims=d)
end

"What a transform of `n` elements is multiplied by; NumPy's inverse ones are Julia's unscaled backward ones."
scale(n, norm, forward) = norm == "ortho" ? 1 / sqrt(n) : (norm == "forward") == forward ? 1 / n : 1.0
@non_differentiable scale(::Any, ::Any, ::Any)

forward_fft(x, d, norm) = FFTW.fft(complex.(x), d) .* scale(extent(x, Tuple(d)), norm, true)
backward_fft(x, d, norm) = FFTW.bfft(complex.(x), d) .* scale(extent(x, Tuple(d)), norm, false)
real_fft(x, d, norm) = FFTW.rfft(real.(x), d) .* scale(extent(x, Tuple(d)), norm, true)
real_backward(x, d, n, norm) = FFTW.brfft(complex.(x), n, d) .* scale(extent(x, Tuple(d)) ÷ size(x, first(d)) * n, norm, false)

@numpy np.fft.fft(a; n=nothing, axis=-1, norm=nothing) = (d = dim(a, axis); forward_fft(fitted_length(a, d, n), (d,), norm))
@numpy np.fft.ifft(a; n=nothing, axis=-1, norm=nothing) = (d = dim(a, axis); backward_fft(fitted_length(a, d, n), (d,), norm))
@numpy np.fft.rfft(a; n=nothing, axis=-1, norm=nothing) = (d = dim(a, axis); real_fft(fitted_length(a, d, n), (d,), norm))
@numpy np.fft.irfft(a; n=nothing, axis=-1, norm=nothing) = half_spectrum(a, dim(a, axis), n, norm)
@numpy np.fft.hfft(a; n=nothing, axis=-1, norm=nothing) = half_spectrum(conj.(a), dim(a, axis), n, exchanged_norm(norm))
@numpy np.fft.ihfft(a; n=nothing, axis=-1, norm=nothing) =
    (d = dim(a, axis); conj.(real_fft(fitted_length(a, d, n), (d,), exchanged_norm(norm))))
exchanged_norm(norm) = norm == "ortho" ? norm : norm == "forward" ? "backward" : "forward"
function half_spectrum(a, d, n, norm)
    m = something(n, 2 * (size(a, d) - 1))
    return real_backward(fitted_length(a, d, m ÷ 2 + 1), (d,), m, norm)
end

"The dimensions of a transform along several axes, the last axis first, and the lengths there."
function lengths_of(a, s, axes)
    named = something(axes, s === nothing ? ntuple(k -> k - 1, ndims(a)) : ntuple(k -> k - 1 - length(s), length(s)))
    d = reverse(Tuple(dim(a, k) for k in named))
    given = s === nothing ? map(_ -> nothing, d) : reverse(map(n -> n == -1 ? nothing : n, Tuple(s)))
    return d, given
end
@non_differentiable lengths_of(::Any, ::Any, ::Any)

# One axis after the other, because an axis may be named twice.
@numpy np.fft.fft2(a; s=nothing, axes=(-2, -1), norm=nothing) = over_lengths(forward_fft, forward_fft, a, lengths_of(a, s, axes), norm)
@numpy np.fft.ifft2(a; s=nothing, axes=(-2, -1), norm=nothing) = over_lengths(backward_fft, backward_fft, a, lengths_of(a, s, axes), norm)
@numpy np.fft.rfft2(a; s=nothing, axes=(-2, -1), norm=nothing) = over_lengths(real_fft, forward_fft, a, lengths_of(a, s, axes), norm)
@numpy np.fft.irfft2(a; s=nothing, axes=(-2, -1), norm=nothing) = half_spectra(a, lengths_of(a, s, axes), norm)
@numpy np.fft.fftn(a; s=nothing, axes=nothing, norm=nothing) = over_lengths(forward_fft, forward_fft, a, lengths_of(a, s, axes), norm)
@numpy np.fft.ifftn(a; s=nothing, axes=nothing, norm=nothing) = over_lengths(backward_fft, backward_fft, a, lengths_of(a, s, axes), norm)
@numpy np.fft.rfftn(a; s=nothing, axes=nothing, norm=nothing) = over_lengths(real_fft, forward_fft, a, lengths_of(a, s, axes), norm)
@numpy np.fft.irfftn(a; s=nothing, axes=nothing, norm=nothing) = half_spectra(a, lengths_of(a, s, axes), norm)

"A transform along the last axis, and another one along the axes before it."
over_lengths(last, others, a, (d, n), norm) = isempty(d) ? a :
    over_lengths(others, others, last(fitted_length(a, d[1], n[1]), (d[1],), norm), (Base.tail(d), Base.tail(n)), norm)
function half_spectra(a, (d, n), norm)
    isempty(d) && return real.(a)
    others = (reverse(Base.tail(d)), reverse(Base.tail(n)))
    return half_spectrum(over_lengths(backward_fft, backward_fft, a, others, norm), d[1], n[1], norm)
end

@numpy np.fft.fftshift(x; axes=nothing) = circshift(x, half_turns(x, axes, 0))
@numpy np.fft.ifftshift(x; axes=nothing) = circshift(x, half_turns(x, axes, 1))
half_turns(x, axes, more) = (d = dims(x, axes); ntuple(k -> k in d ? (more == 0 ? size(x, k) ÷ 2 : -(size(x, k) ÷ 2)) : 0, ndims(x)))
@non_differentiable half_turns(::Any, ::Any, ::Any)
