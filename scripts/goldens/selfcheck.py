"""Holds the reference against PyTorch's own layers, so that the goldens are PyTorch's numbers and not only ours."""

import torch

from goldens import reference
from goldens.case import Case
from goldens.layers import DEFAULTS, add_parameters

TOLERANCE = 1e-12  # both sides are double


def check_reference():
    check_attention()
    check_block("pre_norm")
    check_block("post_norm")


def require_equal(what, ours, theirs):
    difference = (ours - theirs).abs().max().item()
    if not difference < TOLERANCE:
        raise SystemExit(f"reference: {what} differs from PyTorch's by {difference}")


def copy_attention(parameters, prefix, layer):
    layer.in_proj_weight.data = parameters[prefix + "qkv.weight"].data
    layer.in_proj_bias.data = parameters[prefix + "qkv.bias"].data
    layer.out_proj.weight.data = parameters[prefix + "output.weight"].data
    layer.out_proj.bias.data = parameters[prefix + "output.bias"].data


def check_attention():
    case = Case("check")
    add_parameters(case, reference.attention_shapes(DEFAULTS, ""))
    x = case.draw((2, 6, 32))
    layer = torch.nn.MultiheadAttention(32, 4, batch_first=True, dtype=torch.double)
    copy_attention(case.parameters, "", layer)
    allowed = reference.causal_mask(6, 6) & reference.length_mask(torch.tensor([6, 4]), 6)
    padding = torch.arange(6) >= torch.tensor([[6], [4]])
    theirs = layer(x, x, x, attn_mask=~reference.causal_mask(6, 6), key_padding_mask=padding,
                   average_attn_weights=False)
    for what, ours, other in zip(("attention", "attention weights"),
                                 reference.attention(case.parameters, "", DEFAULTS, x, allowed=allowed), theirs):
        require_equal(what, ours, other)


def check_block(wiring):
    config = {**DEFAULTS, "wiring": wiring}
    case = Case("check")
    add_parameters(case, reference.block_shapes(config, ""))
    x = case.draw((2, 6, 32))
    layer = torch.nn.TransformerEncoderLayer(32, 4, config["d_ff"], dropout=0.0, activation="gelu", batch_first=True,
                                             norm_first=wiring == "pre_norm", dtype=torch.double)
    copy_attention(case.parameters, "attention.", layer.self_attn)
    for path, module in (("feed_forward.up", layer.linear1), ("feed_forward.down", layer.linear2),
                         ("attention_norm", layer.norm1), ("feed_forward_norm", layer.norm2)):
        module.weight.data = case.parameters[path + ".weight"].data
        module.bias.data = case.parameters[path + ".bias"].data
    require_equal(f"{wiring} block", reference.block(case.parameters, "", config, x), layer(x))
