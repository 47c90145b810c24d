"""Functions of PyTorch's tensors that run as NumPy programs, or in Julia, with their derivatives."""

from bridge.errors import EngineNotAvailable as _EngineNotAvailable

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise _EngineNotAvailable(
        "bridge.torch needs PyTorch, which is not installed", remedy='pip install "mutation-bridge[torch]"'
    ) from error

from bridge.torch.operation import function as function
