#!/usr/bin/env python3
"""Has the page check its machine, runs the command of a fault, checks again, and prints what the page shows as JSON.

usage: page_check.py URL SUBJECT --browser chromium|firefox

URL is such as http://127.0.0.1:8080/live; SUBJECT is that of a fault with a command, which this program runs.
"""
import argparse
import json
import subprocess

from browser import open_browser

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("subject")
parser.add_argument("--browser", required=True)
options = parser.parse_args()

# Each row of a list as its subject, its meaning, and its command, empty without one.
SHOWN = """
const rows = (list) => [...list.querySelectorAll("li")].map((item) => [".what strong", ".what .quiet", "code"].map((part) => item.querySelector(part).textContent));
const parts = [...document.querySelectorAll("#check-findings > h3")].map((title) => [title.textContent, rows(title.nextElementSibling)]);
const rest = document.querySelector("#check-findings details");
return { parts, rest: rest && [rest.querySelector("summary").textContent, rows(rest)], isOpen: rest?.open ?? false };
"""
# A press of the focused button, as by the keyboard: the check takes seconds, and a press during it does nothing.
PRESS = "const button = document.getElementById('check-start'); button.focus(); button.click(); return document.activeElement === button;"
IDLE = "return document.getElementById('check-start').getAttribute('aria-disabled') === 'false';"
# Presses it again and again until a command is not among those that are shown any more.
UNTIL_MENDED = """
const button = document.getElementById("check-start");
if (button.getAttribute("aria-disabled") !== "false") return false;
const commands = [...document.querySelectorAll("#check-findings code")].map((command) => command.textContent);
if (document.querySelector("#check-findings details") && !commands.includes(arguments[0])) return true;
button.click();
return false;
"""
seen = {}
with open_browser(options.browser) as browser:
    browser.go(options.url)
    browser.until("return !document.getElementById('check').hidden;")
    seen["shownAtFirst"] = browser.run("return document.getElementById('check-findings').textContent;")
    seen["keepsFocus"] = browser.run(PRESS)
    browser.until(IDLE)
    seen["first"] = browser.run(SHOWN)
    seen["state"] = browser.run("return document.getElementById('check-state').textContent;")
    seen["live"] = browser.run("return document.getElementById('check-state').getAttribute('role');")
    seen["keepsFocus"] = seen["keepsFocus"] and browser.run("return document.activeElement === document.getElementById('check-start');")
    commands = [command for _, rows in seen["first"]["parts"] for subject, _, command in rows if subject == options.subject]
    if len(commands) != 1 or not commands[0]:
        raise SystemExit(f"no command for {options.subject}: {seen}")
    subprocess.run(["sh", "-c", commands[0]], check=True, timeout=60)
    # The report stands for some seconds.
    browser.until(UNTIL_MENDED, commands[0])
    seen["second"] = browser.run(SHOWN)
    seen["complaints"] = browser.complaints()
print(json.dumps(seen, ensure_ascii=False))
