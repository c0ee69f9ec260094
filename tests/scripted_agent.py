"""A configuration for tests of the server that need an answer and care little for what it says."""
from serving import configuration

DEMO = [{"scripted": "demo"}]  # The backend that is built in.


def scripted(**members):
    """treaty.yaml as a value: agent `default` on the built-in script."""
    return configuration(agent={"backends": DEMO}, **members)
