"""One golden: named inputs and parameters, what came out of them, and the gradients of all."""

import json
import zlib

import numpy
import torch

from goldens import safetensors


class Case:
    """Collects the tensors of one golden file.

    Everything that may have a gradient is computed in double from numbers that float32 holds exactly, and rounded once
    when stored: the reference has no rounding errors of its own. Numbers come from a generator seeded by its name.
    """

    def __init__(self, name, **config):
        self.name = name
        self.config = config
        self.random = numpy.random.RandomState(zlib.crc32(name.encode()))
        self.inputs = {}
        self.parameters = {}
        self.tensors = {}

    def draw(self, shape, scale=1.0, offset=0.0):
        values = offset + scale * self.random.standard_normal(shape)
        return torch.from_numpy(values.astype(numpy.float32).astype(numpy.float64))

    def input(self, name, shape, scale=1.0):
        self.inputs[name] = self.draw(shape, scale).requires_grad_()
        return self.inputs[name]

    def parameter(self, path, shape, scale=None, offset=0.0):
        """A parameter under weft's path. Matrices keep the size of what they multiply unless `scale` says otherwise."""
        if scale is None:
            scale = shape[-1] ** -0.5 if len(shape) > 1 else 0.2
        self.parameters[path] = self.draw(shape, scale, offset).requires_grad_()
        return self.parameters[path]

    def constant(self, name, values, dtype=numpy.int32):
        """An input without a gradient: ids, lengths, masks."""
        self.tensors["inputs." + name] = numpy.asarray(values, dtype=dtype)
        return torch.from_numpy(numpy.asarray(values).astype(numpy.int64))

    def result(self, name, tensor):
        """An output that no gradient is taken of."""
        self.tensors["outputs." + name] = to_float32(tensor)

    def differentiate(self, outputs, counted=None):
        """Stores `outputs` (name -> tensor), a random gradient for each, and the gradients that follow from them.

        `counted` (as an output's leading dimensions): rows that take part; the others are padding and get gradient 0.
        """
        total = 0.0
        for name, output in outputs.items():
            upstream = self.draw(tuple(output.shape))
            if counted is not None:
                upstream = upstream * counted.reshape(counted.shape + (1,) * (upstream.dim() - counted.dim()))
            self.result(name, output)
            self.tensors["output_gradients." + name] = to_float32(upstream)
            total = total + (output * upstream).sum()
        if counted is not None:
            self.tensors["inputs.counted"] = counted.numpy().astype(numpy.uint8)
        self.backward(total)

    def backward(self, scalar):
        """Stores the gradients of a scalar."""
        scalar.backward()
        for kind, group in (("input", self.inputs), ("parameter", self.parameters)):
            for name, tensor in group.items():
                self.tensors[f"{kind}s.{name}"] = to_float32(tensor)
                gradient = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
                self.tensors[f"{kind}_gradients.{name}"] = to_float32(gradient)

    def serialise(self):
        metadata = {"config": json.dumps(self.config, sort_keys=True), "case": self.name}
        return safetensors.serialise(self.tensors, metadata)


def to_float32(tensor):
    return tensor.detach().numpy().astype(numpy.float32)
