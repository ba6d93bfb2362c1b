"""A LangGraph graph whose model is scripted: it calls backstory's tools over MCP and answers with what it cites.

The model's turns are fixed, so no network and no key is needed; the tools, the server and the index are real.
"""

import json
import subprocess
import sys
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage


class Server:
    """`backstory mcp`, spoken to line by line."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.next = 0
        client = {"name": "langgraph", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.next += 1
        self.send({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.next:
                return answer["result"]

    def call(self, name, arguments):
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        return result["content"][0]["text"], result.get("isError", False)

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=20)


class State(TypedDict):
    messages: Annotated[list, add_messages]


# What the model does in its turns: a tool with its arguments, or its last words.
SCRIPT = [
    ("why", {"target": "src/session.py:7"}),
    ("search", {"query": "memcached sessions", "limit": 2}),
    ("retrieve_context", {"query": "why are sessions in Redis", "max_total_tokens": 900}),
    None,
]


def build(server):
    def model(state):
        turn = sum(isinstance(message, AIMessage) for message in state["messages"])
        step = SCRIPT[turn]
        if step is None:
            told = " ".join(message.content for message in state["messages"] if isinstance(message, ToolMessage))
            reason = "memcached loses every session" if "memcached loses every session" in told else "nothing found"
            return {"messages": [AIMessage(content=reason)]}
        name, arguments = step
        call = {"name": name, "args": arguments, "id": f"call-{turn}"}
        return {"messages": [AIMessage(content="", tool_calls=[call])]}

    def tools(state):
        answers = []
        for call in state["messages"][-1].tool_calls:
            text, is_error = server.call(call["name"], call["args"])
            assert not is_error, text
            answers.append(ToolMessage(content=text, tool_call_id=call["id"]))
        return {"messages": answers}

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile()


def main():
    server = Server(sys.argv[1:])
    names = [tool["name"] for tool in server.request("tools/list", {})["tools"]]
    assert names[:6] == ["why", "search", "read", "context", "history", "status"], names
    done = build(server).invoke({"messages": [HumanMessage("Why does store() return the key?")]})
    assert done["messages"][-1].content == "memcached loses every session", done["messages"][-1].content
    assert server.end() == 0
    print(f"{len(SCRIPT) - 1} tool calls, answered: {done['messages'][-1].content}")


if __name__ == "__main__":
    main()
