#!/usr/bin/env python3
"""Opens a stream's page as a viewer and as an operator, and fails where the wrong controls are visible.

usage: page_control.py URL TOKEN     URL is such as http://127.0.0.1:8080/live
"""
import argparse

from browser import open_browser

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("token")
options = parser.parse_args()
SHOWN = "return document.getElementById(arguments[0]).hidden === false;"
LABEL = "return document.getElementById('control').textContent === arguments[0];"


def check(condition, message):
    if not condition:
        raise SystemExit(message)


with open_browser("chromium") as browser:
    browser.go(options.url)
    browser.until(LABEL, "Log in to control")
    for part in ("source", "effects", "check"):
        check(not browser.run(SHOWN, part), f"a stranger sees {part}")
    # A wrong token is refused in the dialog.
    browser.run("document.getElementById('control').click();")
    browser.run("document.getElementById('login-password').value = 'wrong-token-wrong-token'; document.getElementById('login-form').requestSubmit();")
    browser.until(SHOWN, "login-problem")
    browser.run("document.getElementById('login-password').value = arguments[0]; document.getElementById('login-form').requestSubmit();", options.token)
    browser.until(SHOWN, "source")
    browser.until(LABEL, "End control")
    browser.until(SHOWN, "check")
    browser.run("document.getElementById('control').click();")
    browser.until(LABEL, "Log in to control")
    browser.until("return document.getElementById('source').hidden && document.getElementById('check').hidden;")

with open_browser("chromium") as browser:
    browser.go(f"{options.url}#control={options.token}")
    browser.until(SHOWN, "source")
    check(browser.run("return location.hash;") == "", "the token stays in the address")
    browser.run("document.getElementById('source-mirror').click();")
    browser.until("return document.getElementById('source-mirror').getAttribute('aria-pressed') === 'true';")
