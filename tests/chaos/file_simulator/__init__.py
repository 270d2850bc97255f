"""A simulator of folders: the operations of a workspace, called directly, story after story.

    steps     what a story consists of; a seed makes one
    disk      what is in a folder, and what a tree says
    world     the folders of one story, and what is done in them
    oracle    judges each answer by the bytes that are there
    stories   plays stories, shortens those that fail, and counts

No server is started: the sandbox, the agent's loop and the routes are left out. A kill is a real
one: a process that performs the operation ends at one of its steps.

    python3 -m tests.chaos.file_simulator --stories 2000 --seed 7
"""
