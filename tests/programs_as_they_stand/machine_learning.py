"""Machine learning as it is written before anybody installs a framework."""

import numpy as np
from scipy.special import expit, log_softmax, softmax

from tests.programs_as_they_stand.record import Field

program = Field("machine learning")

RNG = np.random.default_rng(12)
X = RNG.standard_normal((6, 4))
Y = np.array([0, 2, 1, 1, 0, 2])


class Linear:
    def __init__(self, n_in, n_out, seed):
        rng = np.random.RandomState(seed)
        self.W = rng.randn(n_in, n_out) / np.sqrt(n_in)
        self.b = np.zeros(n_out)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, grad):
        self.dW = self.x.T @ grad
        self.db = grad.sum(axis=0)
        return grad @ self.W.T

    def update(self, lr):
        self.W -= lr * self.dW
        self.b -= lr * self.db


class Tanh:
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, grad):
        return grad * (1 - self.y**2)

    def update(self, lr):
        pass


def train_then_test(lr, x):
    layers = [Linear(4, 5, 0), Tanh(), Linear(5, 3, 1)]
    for epoch in range(3):
        out = x
        for layer in layers:
            out = layer.forward(out)
        p = np.exp(out - out.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        loss = -np.log(p[np.arange(len(Y)), Y]).mean()
        grad = p.copy()
        grad[np.arange(len(Y)), Y] -= 1
        grad /= len(Y)
        for layer in reversed(layers):
            grad = layer.backward(grad)
        for layer in layers:
            layer.update(lr)
    return loss


program(
    "training by hand-written backward passes; the learning rate's gradient",
    lambda: train_then_test,
    0.3,
    X,
    argnums=(0, 1),
)


def initialize_parameters(dims, seed=3):
    np.random.seed(seed)
    parameters = {}
    for l in range(1, len(dims)):
        parameters["W" + str(l)] = np.random.randn(dims[l], dims[l - 1]) * 0.5
        parameters[f"b{l}"] = np.zeros((dims[l], 1))
    return parameters


def forward_propagation(A, parameters):
    caches = []
    L = len(parameters) // 2
    for l in range(1, L + 1):
        Z = np.dot(parameters["W" + str(l)], A) + parameters["b" + str(l)]
        caches.append((A, Z))
        A = np.maximum(0, Z) if l < L else expit(Z)
    return A, caches


def binary_cost(parameters):
    AL, caches = forward_propagation(X.T, parameters)
    target = (Y > 0).astype(float).reshape(1, -1)
    cost = -np.sum(target * np.log(AL) + (1 - target) * np.log(1 - AL)) / X.shape[0]
    return np.squeeze(cost) + 0.01 * sum(np.sum(np.square(parameters[k])) for k in parameters if k.startswith("W"))


program(
    "a network in a dictionary, as courses teach it", lambda: binary_cost, initialize_parameters([4, 3, 1]), step=1e-3
)


def conv2d(image, kernel, stride=1, padding=1):
    padded = np.pad(image, padding)
    kh, kw = kernel.shape
    oh = (padded.shape[0] - kh) // stride + 1
    ow = (padded.shape[1] - kw) // stride + 1
    out = np.zeros((oh, ow))
    for i in range(oh):
        for j in range(ow):
            patch = padded[i * stride : i * stride + kh, j * stride : j * stride + kw]
            out[i, j] = np.sum(patch * kernel)
    return out


def max_pool(x, size=2):
    h, w = x.shape[0] // size, x.shape[1] // size
    out = np.empty((h, w))
    for i in range(h):
        for j in range(w):
            out[i, j] = x[i * size : (i + 1) * size, j * size : (j + 1) * size].max()
    return out


def small_cnn(kernel, image):
    features = max_pool(np.maximum(conv2d(image, kernel), 0))
    return features.ravel() @ np.linspace(-1, 1, features.size)


IMAGE = RNG.standard_normal((6, 6))
program(
    "convolution and pooling in loops", lambda: small_cnn, RNG.standard_normal((3, 3)), IMAGE, argnums=(0, 1), step=1e-4
)


def lstm(Wx, Wh, b):
    H = 3
    h, c = np.zeros(H), np.zeros(H)
    hs = np.zeros((len(X), H))
    for t, x in enumerate(X):
        a = x @ Wx + h @ Wh + b
        i, f, o = (expit(a[k * H : (k + 1) * H]) for k in range(3))
        g = np.tanh(a[3 * H :])
        c = f * c + i * g
        h = o * np.tanh(c)
        hs[t] = h
    return np.sum(hs[::2] ** 2)


program(
    "an LSTM over a sequence",
    lambda: lstm,
    0.4 * RNG.standard_normal((4, 12)),
    0.4 * RNG.standard_normal((3, 12)),
    0.1 * RNG.standard_normal(12),
    argnums=(0, 1, 2),
)


def attention(x, Wqkv, heads=2, causal=True):
    q, k, v = np.split(x @ Wqkv, 3, axis=-1)
    T, D = q.shape
    dh = D // heads
    out = np.zeros((T, D))
    for h in range(heads):
        cols = slice(h * dh, (h + 1) * dh)
        scores = q[:, cols] @ k[:, cols].T / np.sqrt(dh)
        if causal:
            scores[np.triu_indices(T, 1)] = -np.inf
        out[:, cols] = softmax(scores, axis=-1) @ v[:, cols]
    mean, var = out.mean(-1, keepdims=True), out.var(-1, keepdims=True)
    normed = (out - mean) / np.sqrt(var + 1e-5)
    return -log_softmax(normed, axis=-1)[np.arange(T), Y[:T]].mean()


program(
    "causal attention with -inf written above the diagonal",
    lambda: attention,
    X[:4],
    RNG.standard_normal((4, 12)),
    argnums=(0, 1),
    step=1e-3,
)


def adam_path(lr, start):
    params = {"w": np.array(start), "b": np.zeros(1)}
    m = {k: np.zeros_like(v) for k, v in params.items()}
    v = {k: np.zeros_like(p) for k, p in params.items()}
    for t in range(1, 6):
        residual = X @ params["w"] + params["b"] - Y
        grads = {"w": X.T @ residual / len(X), "b": residual.mean(keepdims=True)}
        for k in params:
            m[k] = 0.9 * m[k] + 0.1 * grads[k]
            v[k] = 0.99 * v[k] + 0.01 * grads[k] ** 2
            mhat, vhat = m[k] / (1 - 0.9**t), v[k] / (1 - 0.99**t)
            params[k] -= lr * mhat / (np.sqrt(vhat) + 1e-8)
    return np.mean((X @ params["w"] + params["b"] - Y) ** 2)


program(
    "Adam, unrolled, over dictionaries",
    lambda: adam_path,
    0.1,
    np.array([0.3, -0.5, 0.9, 0.1]),
    argnums=(0, 1),
    step=1e-3,
)


def pca_error(data, k=2):
    centred = data - data.mean(axis=0)
    U, S, Vt = np.linalg.svd(centred, full_matrices=False)
    projected = centred @ Vt[:k].T
    rebuilt = projected @ Vt[:k]
    return ((centred - rebuilt) ** 2).sum() + S[0] / S.sum()


program("principal components", lambda: pca_error, X, step=1e-3)


def skip_gram(embedding, output):
    grad = np.zeros_like(embedding)
    loss = 0.0
    for centre, context, negatives in [(0, 1, [3, 2]), (1, 2, [0, 4]), (1, 0, [4, 4]), (3, 4, [1, 2])]:
        v = embedding[centre]
        for word, label in [(context, 1.0)] + [(n, 0.0) for n in negatives]:
            score = expit(v @ output[word])
            loss -= np.log(score if label else 1 - score)
            np.add.at(grad, [centre, centre], np.stack([score * output[word], -label * output[word]]))
    return loss + 0.1 * np.sum(grad**2)


program(
    "word vectors with np.add.at",
    lambda: skip_gram,
    RNG.standard_normal((5, 3)),
    RNG.standard_normal((5, 3)),
    argnums=(0, 1),
)


def kmeans(points, centres):
    centres = centres.copy()
    for _ in range(5):
        distance = np.linalg.norm(points[:, None] - centres[None], axis=-1)
        nearest = distance.argmin(axis=1)
        for k in range(len(centres)):
            members = points[nearest == k]
            if len(members):
                centres[k] = members.mean(axis=0)
    return sum(np.sum((points[nearest == k] - c) ** 2) for k, c in enumerate(centres))


program("k-means by boolean masks", lambda: kmeans, X, X[[0, 3]] + 0.1, step=1e-4)


def dropout_net(w1, w2, p=0.4, training=True):
    rng = np.random.default_rng(1)
    hidden = np.maximum(X @ w1, 0.1 * (X @ w1))
    if training:
        mask = rng.random(hidden.shape) > p
        hidden *= mask / (1 - p)
    hidden[:, 0] = 1.0
    return np.square(hidden @ w2 - Y).mean()


program(
    "dropout and a leaky unit",
    lambda: dropout_net,
    RNG.standard_normal((4, 5)),
    RNG.standard_normal(5),
    argnums=(0, 1),
    step=1e-4,
)


def stochastic_neighbours(Y2):
    n = len(X)

    def row(i, beta):
        d = np.sum((X - X[i]) ** 2, axis=1)
        p = np.exp(-d * beta)
        p[i] = 0
        return p / p.sum()

    P = np.array([row(i, 0.3) for i in range(n)])
    P = np.maximum((P + P.T) / (2 * n), 1e-12)
    num = 1 / (1 + np.sum((Y2[:, None, :] - Y2[None, :, :]) ** 2, axis=-1))
    num[range(n), range(n)] = 0
    Q = np.maximum(num / np.sum(num), 1e-12)
    return np.sum(P * np.log(P / Q))


program("t-SNE's loss", lambda: stochastic_neighbours, RNG.standard_normal((6, 2)))


def self_organise(lr, codebook):
    for step, x in enumerate(X):
        winner = np.unravel_index(np.argmin(((codebook - x) ** 2).sum(-1)), codebook.shape[:2])
        for i in range(codebook.shape[0]):
            for j in range(codebook.shape[1]):
                reach = np.exp(-((i - winner[0]) ** 2 + (j - winner[1]) ** 2) / 2)
                codebook[i, j] += lr / (1 + step) * reach * (x - codebook[i, j])
    return codebook.std() + np.abs(codebook[0, 0]).sum()


program(
    "a self-organising map that changes its argument",
    lambda: self_organise,
    0.5,
    RNG.standard_normal((2, 3, 4)),
    argnums=(0, 1),
    step=1e-4,
)


def boosted_stumps(rate, targets):
    F = np.full(len(targets), targets.mean())
    for feature in range(4):
        residual = targets - F
        threshold = np.median(X[:, feature])
        left = X[:, feature] <= threshold
        F[left] += rate * residual[left].mean()
        F[~left] += rate * residual[~left].mean()
    return np.sum((targets - F) ** 2)


program("boosted stumps", lambda: boosted_stumps, 0.5, np.array([0.3, 1.2, -0.4, 0.8, 2.0, -1.0]), argnums=(0, 1))
