"""Goldens of the optimizer, the schedules, and a training curve (weft/optim)."""

import math
import warnings

import numpy
import torch
import torch.nn.functional as F

from goldens import layers, reference
from goldens.case import Case


def cases():
    yield adamw_case("default", weight_decay=0.01, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8)
    yield adamw_case("strong_decay", weight_decay=0.3, learning_rate=3e-2, beta1=0.8, beta2=0.95, epsilon=1e-6)
    yield clip_case("clips", max_norm=1.0)
    yield clip_case("leaves", max_norm=100.0)
    yield schedule_case()
    yield curve_case("gpt2", **layers.GPT2)
    yield curve_case("llama", **layers.LLAMA)


def adamw_case(name, **config):
    """100 steps of torch.optim.AdamW in float32 on given gradients: elementwise, so its order is fixed."""
    case = Case(f"adamw/{name}", steps=100, **config)
    shapes = {"weight": (6, 9), "bias": (7,)}
    parameters = {path: case.draw(shape).float().requires_grad_() for path, shape in shapes.items()}
    # Gradients of very different sizes, some exactly zero.
    gradients = {
        path: (case.draw((100, *shape)) * 10.0 ** case.draw(shape)).float() for path, shape in shapes.items()
    }
    gradients["bias"][::3, :2] = 0.0
    for path, parameter in parameters.items():
        case.tensors["parameters." + path] = parameter.detach().numpy().copy()
        case.tensors["inputs.gradients." + path] = gradients[path].numpy()
    optimizer = torch.optim.AdamW(
        [
            {"params": [parameters["weight"]], "weight_decay": config["weight_decay"]},
            {"params": [parameters["bias"]], "weight_decay": 0.0},
        ],
        lr=config["learning_rate"], betas=(config["beta1"], config["beta2"]), eps=config["epsilon"], foreach=False)
    for step in range(100):
        for path, parameter in parameters.items():
            parameter.grad = gradients[path][step].clone()
        optimizer.step()
        if step + 1 in (1, 2, 10, 100):
            for path, parameter in parameters.items():
                case.tensors[f"outputs.step_{step + 1}.{path}"] = parameter.detach().numpy().copy()
    return case


def clip_case(name, max_norm):
    case = Case(f"clip/{name}", max_norm=max_norm)
    parameters = {path: torch.zeros(shape, dtype=torch.double) for path, shape in (("a", (5, 4)), ("b", (3,)))}
    for path, parameter in parameters.items():
        parameter.grad = case.draw(parameter.shape)
        case.tensors["inputs." + path] = parameter.grad.numpy().astype(numpy.float32)
    norm = torch.nn.utils.clip_grad_norm_(parameters.values(), max_norm)
    case.result("norm", norm)
    for path, parameter in parameters.items():
        case.result(path, parameter.grad)
    return case


def schedule_case():
    """Learning rates of 60 steps, by torch.optim.lr_scheduler where it has the schedule."""
    peak, lowest, steps, warmup, epochs = 3e-3, 1e-4, 60, 8, 6
    case = Case("schedule/all", learning_rate=peak, min_learning_rate=lowest, steps=steps, warmup_steps=warmup,
                epochs=epochs, steps_per_epoch=steps // epochs)

    def rates(make):
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=peak)
        scheduler = make(optimizer)
        values = []
        for _ in range(steps):
            values.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            with warnings.catch_warnings():  # SequentialLR calls step() in a way that PyTorch itself deprecates
                warnings.simplefilter("ignore", UserWarning)
                scheduler.step()
        return numpy.asarray(values)

    def after_warmup(scheduler):
        """Linear warm-up that reaches the peak at step `warmup` (counted from 0), as step 0 trains with peak/warmup."""
        return lambda optimizer: torch.optim.lr_scheduler.SequentialLR(
            optimizer,
            [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / warmup), scheduler(optimizer)],
            milestones=[warmup])

    scheduler = torch.optim.lr_scheduler
    cosine = lambda span: lambda optimizer: scheduler.CosineAnnealingLR(optimizer, span, eta_min=lowest)
    constant = lambda optimizer: scheduler.LambdaLR(optimizer, lambda step: 1.0)
    inverse = lambda optimizer: scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warmup, math.sqrt(warmup / (step + 1))))
    per_epoch = rates(cosine(epochs))[:epochs].repeat(steps // epochs)
    for name, values in {
        "constant": rates(constant),
        "constant_warmup": rates(after_warmup(constant)),
        "cosine": rates(cosine(steps)),
        "cosine_warmup": rates(after_warmup(cosine(steps - warmup))),
        "cosine_per_epoch": per_epoch,
        "inverse_sqrt": rates(inverse),
    }.items():
        case.tensors["outputs." + name] = values.astype(numpy.float32)
    return case


def curve_case(name, **changes):
    """20 steps in float32: fixed batches, clipped gradients, AdamW that decays matrices only."""
    config = {**layers.DEFAULTS, **changes}
    training = {"learning_rate": 3e-3, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1,
                "clip_norm": 1.0, "steps": 20}
    case = Case(f"curve/{name}", model=config, **training)
    # Counting upwards from a random id: something that 20 steps learn.
    counts = (case.random.randint(0, config["vocab_size"], (20, 4, 1)) + numpy.arange(13)) % config["vocab_size"]
    ids, targets = case.constant("ids", counts[..., :-1]), case.constant("targets", counts[..., 1:])
    layers.add_parameters(case, reference.parameter_shapes(config))
    parameters = {path: value.detach().float().requires_grad_() for path, value in case.parameters.items()}
    for path, parameter in parameters.items():
        case.tensors["parameters." + path] = parameter.detach().numpy().copy()
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in parameters.values() if p.dim() >= 2], "weight_decay": training["weight_decay"]},
            {"params": [p for p in parameters.values() if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=training["learning_rate"], betas=(training["beta1"], training["beta2"]), eps=training["epsilon"])
    losses, norms = [], []
    for step in range(20):
        optimizer.zero_grad()
        logits = reference.causal_lm(parameters, config, ids[step])
        loss = F.cross_entropy(logits.flatten(0, 1), targets[step].flatten())
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), training["clip_norm"]))
        optimizer.step()
        losses.append(loss)
    case.result("losses", torch.stack(losses))
    case.result("gradient_norms", torch.stack(norms))
    return case
