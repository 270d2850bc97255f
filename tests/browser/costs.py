"""What each walk takes that Firefox walks in turns: seconds of processor time."""

COSTS = {
    f"tests.browser.test_{name}": seconds
    for name, seconds in (
        *(("installed_page", 36), ("sign_in", 29), ("data_loss", 22), ("parallel_runs", 20)),
        *(("preview_leaks", 15), ("client_tools", 14), ("import_export", 14), ("drafts", 14)),
        *(("keyboard", 13), ("tab_stories", 11), ("private_network", 9), ("injection", 8)),
        *(("voice", 8), ("widget", 4), ("driver", 4)),
    )
}
