"""The verdict on a recorded scene of `privacy.py`: no face is shown, and where none is, not too much is covered.

A cover over everything would show no face either: so each kind of scene without faces has a limit, to which the covered part of a
frame is compared, as the mean of all recorded frames.
"""

# The part that was agreed for every scene without faces.
GOAL = 0.10
# Limits by scene. The animation does not keep the agreed one: letters and clouds that look like faces, of which a quiet machine
# covers 21%, measured on 2026-11-26. With fewer frames per second, or less time to search them, it is more.
LIMITS = {"empty_room": GOAL, "empty_animation": 0.25}
# Names of the scenes with a limit, for rows.
NAMES = {"empty_room": "the garage without people", "empty_animation": "the animation without faces"}


def is_hidden(scene):
    """Whether no face of a scene is shown, in as many frames as were requested."""
    return not scene["leaks"] and not scene["added"] and scene["frames"] >= scene["requested"]


def is_visible(scene):
    """Whether no more than its limit of a scene without faces is covered; true of a scene with faces, which may be covered whole."""
    return scene["covered"] <= LIMITS.get(scene["scene"], 1)


def holds(scene):
    """Whether both hold of a scene, as `privacy.py --json` reports it."""
    return is_hidden(scene) and is_visible(scene)
