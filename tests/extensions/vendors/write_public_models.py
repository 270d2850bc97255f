"""Write server/extensions/vendors/public_models.json: public prices and windows of vendors' models.

    python3 -m tests.extensions.vendors.write_public_models CHECKOUT DATE

CHECKOUT: of github.com/anomalyco/models.dev (TOML files, MIT licence), DATE: of its last commit,
YYYY-MM-DD. Only facts are taken, of models that answer with text and are not withdrawn.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[3] / "server" / "extensions" / "vendors" / "public_models.json"
HOSTS = {  # address of an API: the checkout's name of its vendor
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "api.x.ai": "xai",
    "api.deepseek.com": "deepseek",
    "api.mistral.ai": "mistral",
    "api.groq.com": "groq",
    "api.cerebras.ai": "cerebras",
    "openrouter.ai": "openrouter",
    "dashscope.aliyuncs.com": "alibaba-cn",
    "dashscope-intl.aliyuncs.com": "alibaba",
    "api.siliconflow.cn": "siliconflow-cn",
    "api.siliconflow.com": "siliconflow",
    "open.bigmodel.cn": "zhipuai",
    "api.z.ai": "zai",
    "api.minimaxi.com": "minimax-cn",
    "api.minimax.io": "minimax",
    "api.moonshot.cn": "moonshotai-cn",
    "api.moonshot.ai": "moonshotai",
}
PRICES = {
    "input": "input",
    "output": "output",
    "cache_read": "cached",
    "cache_write": "cache_write",
}
INPUTS = ("image", "pdf", "audio")
LEAST = 4_000  # tokens of window; below are classifiers


def main(checkout: Path, date: str) -> None:
    """Write the table."""
    hosts = {host: _vendor(checkout, vendor) for host, vendor in HOSTS.items()}
    lines = [f'{{"date": {json.dumps(date)}, "unit": "USD", "hosts": {{']
    for host, models in hosts.items():
        lines.append(f"{json.dumps(host)}: {{")
        rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(models.items())]
        lines += [f"{row}," for row in rows[:-1]] + rows[-1:]
        lines.append("}" if host == list(hosts)[-1] else "},")
    TARGET.write_text("\n".join([*lines, "}}", ""]), "utf-8")
    print(f"{sum(map(len, hosts.values()))} models of {len(hosts)} hosts")


def _vendor(checkout: Path, vendor: str) -> dict[str, dict[str, Any]]:
    folder = checkout / "providers" / vendor / "models"
    found = {}
    for path in folder.rglob("*.toml"):
        if not path.exists():  # a link to a file that is gone
            continue
        model = _read(checkout, path)
        kinds = model.get("modalities") or {}
        if model.get("status") == "deprecated" or kinds.get("output") != ["text"]:
            continue
        window, cost = (model.get("limit") or {}).get("context") or 0, model.get("cost") or {}
        costs = {
            ours: round(cost[theirs] / 1000, 12)
            for theirs, ours in PRICES.items()
            if theirs in cost
        }
        if window >= LEAST and costs:
            inputs = [kind for kind in INPUTS if kind in kinds.get("input", ())]
            row = {"max_context": window, "costs": costs, "inputs": inputs}
            found[str(path.relative_to(folder))[: -len(".toml")]] = row
    return found


def _read(checkout: Path, path: Path) -> dict[str, Any]:
    model = tomllib.loads(path.read_text("utf-8"))
    base = checkout / "models" / f"{model.pop('base_model', '')}.toml"
    return {**_read(checkout, base), **model} if base.is_file() else model


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
