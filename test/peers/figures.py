# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Medians, their spread, and tables of them."""

import statistics


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "all": list(values)}


def with_spread(figure, factor=1.0, decimals=2):
    median, least, most = (f"{figure[key] * factor:.{decimals}f}" for key in ("median", "least", "most"))
    return f"{median} ({least} to {most})"


def aligned(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def results_table(results):
    if not results:
        return ""
    peers = [name for name in results[0]["tokens_per_second"] if name != "ours"]
    rows = [["case", "tokens/s", *peers, "ratio", "of CPU time", "AdamW GB/s", *peers, "ratio", "of streaming", "load"]]
    for result in results:
        rates, updates = result["tokens_per_second"], result["update_bytes_per_second"]
        rows.append([result["case"], with_spread(rates["ours"], decimals=1),
                     *(with_spread(rates[name], decimals=1) for name in peers), with_spread(result["ratio"]),
                     with_spread(result["cpu_ratio"]) if result["cpu_ratio"] else "-",
                     f"{updates['ours']['median'] / 1e9:.1f}", *(f"{updates[name]['median'] / 1e9:.1f}" for name in peers),
                     with_spread(result["update_ratio"]), with_spread(result["update_over_stream"]),
                     f"{result['load']['before'][0]:.1f} {result['load']['after'][0]:.1f}"])
    return aligned(rows)


def starts_table(starts):
    if not starts:
        return ""
    rows = [["start to the first step's", "", "s", "PyTorch s", "ratio", "load"]]
    for start in starts:
        for event in ("begin", "end"):
            seconds = start[event]["seconds"]
            rows.append([start["case"], event, with_spread(seconds["ours"]), with_spread(seconds["eager"]),
                         with_spread(start[event]["ratio"]), f"{start['load']['after'][0]:.1f}"])
    return aligned(rows)
