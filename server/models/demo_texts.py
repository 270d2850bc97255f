"""Texts of the demo model, in English and Chinese. Each says that no AI is at work.

Used by `demo` only. Braces are `str.format` fields.
"""

from __future__ import annotations

ENGLISH = {
    "label": "*(demo, no AI)* ",
    "thought": "This is a demo: no AI is thinking here. A real model's reasoning would stream in"
    " this place. I will show the tools one after the other.",
    "welcome": """\
# Welcome to yaa

I am the **built-in demo model**: a fixed script, **no AI**. It works offline and without a key, \
and shows you what happens around a real model:

1. text that streams in as *Markdown*, with reasoning before it,
2. a tool that only reads and runs at once,
3. a tool that changes something and **waits for your approval**,
4. a question to you,
5. and a summary of it all.

```python
print("code blocks look like this")
```

Everything you see is in one JSON document that belongs to you. First, a tool that only reads:
""",
    "ask_approval": "That ran at once, because it only reads. Its result was:\n\n{quote}\n\nThe"
    " next tool could change something, so it **waits for you**: approve it, edit it or deny it.\n",
    "ask_question": "The tool answered:\n\n{quote}\n\nNow a question. A run that waits for your"
    " answer can be continued on another server too.\n",
    "question": "Which part of yaa would you like to see first?",
    "closing": """\
## That was the tour

What the tools answered:

{quote}

All of it came from a script: **no AI was used**. To talk to a real model, start Ollama, LM Studio \
or llama.cpp on this machine, set an API key such as `OPENAI_API_KEY`, or add a provider to \
`config.json`, then restart the server.

More to try here: `calc 2+3*4`, `time`, `shell ls`, `write`, `ask`, `two tools`, `think`, \
`stream 200`, `slow`, `fail`.
""",
    "missing": "The tool `{tool}` is not offered here, so I skip that step.\n",
    "calling": "Calling `{tool}`, as you asked.\n",
    "results": "The result:\n\n{quote}\n",
    "thinking": "First I look at the words. Then I look at them again. There is no AI here, so that"
    " is all the thinking there will be.",
    "thought_done": "I have thought, in the way a script can.\n",
    "slow": "These words arrive slowly, so that there is time to press stop, to close the page, or"
    " to watch a session being continued elsewhere. One, two, three, four, five, six, seven,"
    " eight, nine, ten.\n",
    "stream": "A demo stream without any AI.\nIt goes on and on, character by character.\n\n",
    "failure": "the demo model failed, as you asked it to",
    "note": "A note from the demo model.\nNo AI wrote it.\n",
    "title": "A look around with the demo model",
    "empty": "(nothing)",
}

CHINESE = {
    "label": "*(演示，非 AI)* ",
    "thought": "这是演示：这里没有 AI 在思考。真实模型的推理过程会在这里流式显示。"
    "我会依次演示各种工具。",
    "welcome": """\
# 欢迎使用 yaa

我是**内置演示模型**：一段固定脚本，**没有 AI**。不需要网络和密钥，向你展示真实模型周围发生的一切：

1. 以 *Markdown* 流式输出的文字，以及之前的思考过程；
2. 只读工具，立即执行；
3. 会改变内容的工具，**等待你批准**；
4. 向你提出的问题；
5. 最后的总结。

```python
print("代码块是这样的")
```

你看到的一切都保存在一份属于你的 JSON 文档里。首先，一个只读工具：
""",
    "ask_approval": "它只读取数据，所以立即执行了。结果是：\n\n{quote}\n\n下一个工具可能改变内容，"
    "因此**等待你的决定**：批准、修改或拒绝。\n",
    "ask_question": "工具的回答：\n\n{quote}\n\n现在有一个问题。"
    "等待回答的会话也可以在另一台服务器上继续。\n",
    "question": "你想先看 yaa 的哪一部分？",
    "closing": """\
## 演示结束

工具的回答：

{quote}

这一切都来自脚本：**没有使用 AI**。要使用真实模型，请在本机启动 Ollama、LM Studio 或 llama.cpp，\
或者设置 `DASHSCOPE_API_KEY` 之类的密钥，或者在 `config.json` 中添加模型服务，然后重启服务器。

还可以试试：`calc 2+3*4`、`time`、`shell ls`、`write`、`ask`、`two tools`、`think`、`stream 200`、\
`slow`、`fail`。
""",
    "missing": "这里没有提供工具 `{tool}`，跳过这一步。\n",
    "calling": "按你的要求调用 `{tool}`。\n",
    "results": "结果：\n\n{quote}\n",
    "thinking": "先看一遍这些字，再看一遍。这里没有 AI，所以思考到此为止。",
    "thought_done": "想好了，以脚本能做到的方式。\n",
    "slow": "这些字来得很慢，好让你有时间按下停止、关闭页面，或者看会话在别处继续。"
    "一、二、三、四、五、六、七、八、九、十。\n",
    "stream": "没有 AI 的演示文字。\n一个字一个字地出现。\n\n",
    "failure": "演示模型按你的要求失败了",
    "note": "演示模型的便条。\n不是 AI 写的。\n",
    "title": "演示模型带你看看",
    "empty": "（空）",
}
