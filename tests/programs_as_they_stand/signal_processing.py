"""Signal processing: filters with delay lines, transforms, recursions over samples."""

import numpy as np
from numpy.fft import fft, ifft, rfft
from scipy import signal

from tests.programs_as_they_stand.record import Field

program = Field("signal processing")

RNG = np.random.default_rng(7)
X = np.sin(np.arange(24) * 0.7) + 0.1 * RNG.standard_normal(24)


def lms(mu, x, taps=4):
    w = np.zeros(taps)
    desired = np.convolve(x, [0.5, -0.3, 0.1])[: len(x)]
    e = np.zeros(len(x))
    for n in range(taps, len(x)):
        window = x[n - taps : n][::-1]
        e[n] = desired[n] - np.dot(w, window)
        w += mu * e[n] * window
    return np.mean(e**2)


program("an adaptive filter", lambda: lms, 0.05, X, argnums=(0, 1))


def kalman(q, r, z):
    n = len(z)
    xhat, P, K = np.zeros(n), np.zeros(n), np.zeros(n)
    xhatminus, Pminus = np.zeros(n), np.zeros(n)
    P[0] = 1.0
    loglik = 0.0
    for k in range(1, n):
        xhatminus[k] = xhat[k - 1]
        Pminus[k] = P[k - 1] + q
        K[k] = Pminus[k] / (Pminus[k] + r)
        xhat[k] = xhatminus[k] + K[k] * (z[k] - xhatminus[k])
        P[k] = (1 - K[k]) * Pminus[k]
        loglik -= 0.5 * (np.log(Pminus[k] + r) + (z[k] - xhatminus[k]) ** 2 / (Pminus[k] + r))
    return loglik


program("a Kalman filter, five arrays", lambda: kalman, 0.1, 0.5, X, argnums=(0, 1, 2), step=1e-3)


class Biquad:
    def __init__(self, f0, q):
        w0 = 2 * np.pi * f0
        alpha = np.sin(w0) / (2 * q)
        self.b = [(1 - np.cos(w0)) / 2, 1 - np.cos(w0), (1 - np.cos(w0)) / 2]
        self.a = [1 + alpha, -2 * np.cos(w0), 1 - alpha]
        self.z1 = self.z2 = 0.0

    def tick(self, x):
        b, a = self.b, self.a
        y = (b[0] * x + self.z1) / a[0]
        self.z1 = b[1] * x - a[1] * y + self.z2
        self.z2 = b[2] * x - a[2] * y
        return y


def lowpass_energy(f0, q):
    filt = Biquad(f0, q)
    return np.sum(np.square([filt.tick(x) for x in X]))


program("a biquad, made of the argument", lambda: lowpass_energy, 0.1, 0.7, argnums=(0, 1))


def moving_filter(b, a):
    y = signal.lfilter(b, np.concatenate(([1.0], a)), X)
    return np.sum(y[5:] ** 2)


program("lfilter", lambda: moving_filter, np.array([0.4, 0.2, 0.1]), np.array([-0.5, 0.2]), argnums=(0, 1))


def spectrogram_entropy(x, frame=8, hop=4):
    window = np.hanning(frame)
    n_frames = 1 + (len(x) - frame) // hop
    S = np.empty((frame // 2 + 1, n_frames))
    for m in range(n_frames):
        S[:, m] = np.abs(rfft(x[m * hop : m * hop + frame] * window)) ** 2
    P = S / S.sum()
    return -(P * np.log(P + 1e-12)).sum()


program("entropy of a spectrogram", lambda: spectrogram_entropy, X)


def goertzel(x, frequency):
    coeff = 2 * np.cos(2 * np.pi * frequency)
    s_prev, s_prev2 = 0, 0
    for sample in x:
        s = sample + coeff * s_prev - s_prev2
        s_prev2, s_prev = s_prev, s
    return s_prev**2 + s_prev2**2 - coeff * s_prev * s_prev2


program("Goertzel's recursion", lambda: goertzel, X, 0.11, argnums=(0, 1))


def dtw(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


program("dynamic time warping", lambda: dtw, X[:7].copy(), X[3:11] ** 2, argnums=(0, 1), step=1e-4)


def envelope(x, attack, release):
    env, level = [], 0.0
    for v in np.abs(x):
        level = attack * level + (1 - attack) * v if v > level else release * level + (1 - release) * v
        env.append(level)
    return np.asarray(env).mean()


program("an envelope follower", lambda: envelope, X, 0.3, 0.9, argnums=(0, 1, 2), step=1e-4)


def haar(x):
    out, n = x.copy(), len(x)
    while n > 1:
        half = n // 2
        tmp = out[:n].copy()
        for i in range(half):
            out[i] = (tmp[2 * i] + tmp[2 * i + 1]) / np.sqrt(2)
            out[half + i] = (tmp[2 * i] - tmp[2 * i + 1]) / np.sqrt(2)
        n = half
    return np.sum(np.abs(out[4:]) ** 1.5) + out[0]


program("Haar's wavelets, in place", lambda: haar, X[:16] + 0.3, step=1e-4)


def levinson(r):
    order = len(r) - 1
    a = np.zeros(order + 1)
    a[0], e = 1.0, r[0]
    for k in range(1, order + 1):
        acc = r[k]
        for j in range(1, k):
            acc += a[j] * r[k - j]
        reflection = -acc / e
        new = a.copy()
        for j in range(1, k):
            new[j] = a[j] + reflection * a[k - j]
        new[k] = reflection
        a = new
        e *= 1 - reflection**2
    return e + a[1]


program("Levinson and Durbin", lambda: levinson, np.array([2.0, 0.9, 0.3, 0.2, -0.1]))


def recursive_fft(x):
    n = len(x)
    if n == 1:
        return x
    even, odd = recursive_fft(x[::2]), recursive_fft(x[1::2])
    factor = np.exp(-2j * np.pi * np.arange(n) / n)
    return np.concatenate([even + factor[: n // 2] * odd, even + factor[n // 2 :] * odd])


def spectrum_of_recursion(x):
    return np.sum(np.abs(recursive_fft(x)) ** 2 * np.arange(len(x)))


program("a recursive Fourier transform", lambda: spectrum_of_recursion, X[:8].copy())


def hilbert_phase(x):
    n = len(x)
    Xf = fft(x)
    h = np.zeros(n)
    h[0] = h[n // 2] = 1
    h[1 : n // 2] = 2
    analytic = ifft(Xf * h)
    return np.abs(analytic).sum() + np.imag(analytic)[3]


program("an analytic signal", lambda: hilbert_phase, X[:12].copy())


def matched(template, noise):
    score = signal.fftconvolve(X * noise, template[::-1], mode="valid")
    best = score.argmax()
    return score[best] / np.sqrt(np.sum(template**2))


program("a matched filter by fftconvolve", lambda: matched, X[4:9].copy(), 1.3, argnums=(0, 1), step=1e-3)
