"""Prints, as JSON, what the torch of this interpreter was built for. Standard library + torch."""

import json

import torch

print(
    json.dumps(
        {
            "version": str(torch.__version__),
            "cuda": torch.version.cuda,
            "hip": torch.version.hip,
            "xpu": getattr(torch.version, "xpu", None),
        }
    )
)
