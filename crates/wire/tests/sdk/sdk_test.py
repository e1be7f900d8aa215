"""Drives the binary ($TROUPE_TEST_BINARY) by the agent SDK for Python, against a loopback server."""

import asyncio
import json
import os
import pathlib
import sys
import tempfile
import unittest

import mock_server
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultError,
    ResultMessage,
    SystemMessage,
    TextBlock,
    UserMessage,
    get_session_messages,
    list_sessions,
    query,
)

BINARY = os.environ["TROUPE_TEST_BINARY"]
# A guard against hanging for ever; nothing is measured by it.
LIMIT = 120


class Sdk(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.server = mock_server.start()
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name).resolve()
        self.work = root / "work"
        self.work.mkdir()
        self.config = root / "config"
        self.config.mkdir()
        # The SDK's readers look where this says.
        os.environ["CLAUDE_CONFIG_DIR"] = str(self.config)
        os.environ.pop("TROUPE_HOME", None)

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()

    def options(self, **more):
        env = {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.server.server_port}",
            "ANTHROPIC_API_KEY": "for the mock",
            "CLAUDE_CONFIG_DIR": str(self.config),
            "HOME": str(self.config),
        }
        return ClaudeAgentOptions(
            cli_path=BINARY, cwd=str(self.work), env=env, model="mock-1", setting_sources=[],
            stderr=lambda line: print("stderr:", line, file=sys.stderr), **more,
        )

    async def turn(self, client, prompt):
        await client.query(prompt)
        return [message async for message in client.receive_response()]

    async def test_query_and_the_files_it_leaves(self):
        messages = [message async for message in query(prompt="say hello", options=self.options())]
        first = next(message for message in messages if isinstance(message, SystemMessage))
        self.assertEqual(first.subtype, "init")
        self.assertRegex(first.data["claude_code_version"], r"^2\.\d+\.\d+")
        texts = [message for message in messages if isinstance(message, AssistantMessage)]
        self.assertEqual(texts[0].content, [TextBlock("you said hello")])
        result = messages[-1]
        self.assertIsInstance(result, ResultMessage)
        self.assertEqual((result.subtype, result.is_error, result.result), ("success", False, "you said hello"))
        sessions = list_sessions(directory=str(self.work))
        self.assertEqual([session.session_id for session in sessions], [result.session_id])
        self.assertEqual(sessions[0].first_prompt, "say hello")
        kept = get_session_messages(result.session_id, directory=str(self.work))
        self.assertEqual([message.type for message in kept], ["user", "assistant"])
        self.assertEqual(kept[1].uuid, texts[0].uuid)

    async def test_a_second_turn_and_settings(self):
        async with ClaudeSDKClient(self.options()) as client:
            info = await client.get_server_info()
            self.assertIn("models", info)
            self.assertEqual((await self.turn(client, "say one"))[-1].result, "you said one")
            await client.set_model("mock-2")
            await client.set_permission_mode("plan")
            messages = await self.turn(client, "say two")
            init = next(m for m in messages if isinstance(m, SystemMessage) and m.subtype == "init")
            self.assertEqual((init.data["model"], init.data["permissionMode"]), ("mock-2", "plan"))
            self.assertEqual(messages[-1].result, "you said two")
            self.assertEqual(self.server.requests[-1]["model"], "mock-2")
            self.assertEqual(len(self.server.requests[-1]["messages"]) % 2, 1)
            context = await client.get_context_usage()
            self.assertGreater(context["totalTokens"], 0)
            self.assertEqual(await client.get_mcp_status(), {"mcpServers": []})
            with self.assertRaisesRegex(Exception, "no running task"):
                await client.stop_task("b0")
            with self.assertRaisesRegex(Exception, "not supported"):
                await client.rewind_files("u")

    async def test_an_interrupt_and_a_turn_after_it(self):
        async with ClaudeSDKClient(self.options()) as client:
            await client.query("be slow")
            await asyncio.to_thread(self.server.slow.wait, LIMIT)
            await client.interrupt()
            messages = [message async for message in client.receive_response()]
            result = messages[-1]
            self.assertEqual(result.subtype, "error_during_execution")
            self.assertEqual((await self.turn(client, "say more"))[-1].result, "you said more")

    async def test_permission_denied_and_allowed(self):
        asked = []

        async def decide(tool, given, context):
            asked.append((tool, given["file_path"], context.tool_use_id))
            if "denied" in given["file_path"]:
                return PermissionResultDeny(message="not there")
            return PermissionResultAllow(updated_input={**given, "content": "changed\n"})

        allowed, denied = self.work / "allowed.txt", self.work / "denied.txt"
        async with ClaudeSDKClient(self.options(can_use_tool=decide)) as client:
            messages = await self.turn(client, f"write {denied}")
            self.assertEqual(messages[-1].result, "it failed")
            self.assertEqual(messages[-1].permission_denials[0]["tool_name"], "Write")
            self.assertFalse(denied.exists())
            messages = await self.turn(client, f"write {allowed}")
            self.assertEqual(messages[-1].result, "it worked")
            self.assertEqual(allowed.read_text(), "changed\n")
            results = [message for message in messages if isinstance(message, UserMessage)]
            self.assertEqual(results[0].tool_use_result["filePath"], str(allowed))
        self.assertEqual([entry[0] for entry in asked], ["Write", "Write"])

    async def test_a_plan_is_refused_then_approved_with_a_mode(self):
        asked = []

        async def decide(tool, given, context):
            asked.append((tool, given))
            if len(asked) == 1:
                return PermissionResultDeny(message="think again")
            mode = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
            return PermissionResultAllow(
                updated_input={**given, "plan": "a better plan"}, updated_permissions=[mode]
            )

        target = self.work / "a.txt"
        options = self.options(can_use_tool=decide, permission_mode="plan")
        async with ClaudeSDKClient(options) as client:
            messages = await self.turn(client, f"write {target}")
            self.assertEqual(messages[-1].result, "it failed")
            self.assertEqual(asked, [], "while planning that is no question")
            propose = 'call ExitPlanMode {"plan": "a plan"}'
            messages = await self.turn(client, propose)
            self.assertEqual(messages[-1].result, "it failed")
            self.assertEqual(messages[-1].permission_denials[0]["tool_name"], "ExitPlanMode")
            messages = await self.turn(client, propose)
            self.assertEqual(messages[-1].result, "it worked")
            found = next(m for m in messages if isinstance(m, UserMessage)).tool_use_result
            file = pathlib.Path(found["filePath"])
            self.assertEqual(file.parent, self.config / "plans")
            self.assertEqual(file.read_text(), "a better plan")
            self.assertEqual((found["plan"], found["planWasEdited"], found["isAgent"]), ("a better plan", True, False))
            # What the answer allowed holds from now on.
            messages = await self.turn(client, f"write {target}")
            self.assertEqual(messages[-1].result, "it worked")
            init = next(m for m in messages if isinstance(m, SystemMessage) and m.subtype == "init")
            self.assertEqual(init.data["permissionMode"], "acceptEdits")
        self.assertEqual([tool for tool, _ in asked], ["ExitPlanMode", "ExitPlanMode"])
        self.assertEqual(asked[0][1], {"plan": "a plan", "planFilePath": str(file)})

    async def test_the_model_asks_the_person(self):
        question = {
            "question": "Which way?", "header": "Way", "multiSelect": True,
            "options": [{"label": "left", "description": "l"}, {"label": "right", "description": "r"}],
        }
        asked = []

        async def decide(tool, given, context):
            asked.append((tool, given))
            answers = {"Which way?": "left, right"} if len(asked) == 1 else {}
            return PermissionResultAllow(updated_input={"questions": given["questions"], "answers": answers})

        async with ClaudeSDKClient(self.options(can_use_tool=decide)) as client:
            ask = "call AskUserQuestion " + json.dumps({"questions": [question]})
            messages = await self.turn(client, ask)
            self.assertEqual(messages[-1].result, "it worked")
            found = next(m for m in messages if isinstance(m, UserMessage)).tool_use_result
            self.assertEqual(found, {"questions": [question], "answers": {"Which way?": "left, right"}})
            self.assertIn("left, right", json.dumps(self.server.requests[-1]["messages"]))
            messages = await self.turn(client, ask)
            self.assertEqual(messages[-1].result, "it failed")
            self.assertIn("No answer was given", json.dumps(self.server.requests[-1]["messages"]))
        self.assertEqual(asked[0], ("AskUserQuestion", {"questions": [question]}))

    async def test_query_ends_with_a_callback(self):
        async def allow(_tool, given, _context):
            return PermissionResultAllow(updated_input=given)

        async def prompts():
            message = {"role": "user", "content": f"write {self.work / 'a.txt'}"}
            yield {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""}

        options = self.options(can_use_tool=allow)
        messages = [message async for message in query(prompt=prompts(), options=options)]
        self.assertEqual(messages[-1].result, "it worked")
        self.assertEqual((self.work / "a.txt").read_text(), "written\n")

    async def test_a_failure_keeps_its_words_to_the_end(self):
        messages = []
        with self.assertRaises(ResultError) as raised:
            async for message in query(prompt="refuse this", options=self.options()):
                messages.append(message)
        self.assertEqual(raised.exception.api_error_status, 400)
        self.assertIn("not like this", str(raised.exception))
        self.assertTrue(messages[-1].is_error)

    async def test_pieces_of_replies(self):
        options = self.options(include_partial_messages=True)
        kinds = [type(message).__name__ async for message in query(prompt="say hi", options=options)]
        self.assertIn("StreamEvent", kinds)
        self.assertLess(kinds.index("StreamEvent"), kinds.index("AssistantMessage"))



if __name__ == "__main__":
    print(json.dumps({"binary": BINARY}), file=sys.stderr)
    unittest.main(verbosity=2)
