"""The verdict on a recorded scene of `privacy.py`: no face is shown, and where none is, not too much is covered.

A cover over everything would show no face either: so scenes without faces have a limit, to which the covered part of a frame is
compared, as the mean of all recorded frames.
"""

# The part of a scene without faces that may be covered. A machine that is busy or too slow covers more: what it has not searched in time.
LIMIT = 0.10
# Names of the scenes without faces, for rows.
NAMES = {"empty_room": "the garage without people", "empty_animation": "the animation without faces"}


def is_hidden(scene):
    """Whether no face of a scene is shown, in as many frames as were requested."""
    return not scene["leaks"] and not scene["added"] and scene["frames"] >= scene["requested"]


def is_visible(scene):
    """Whether no more than the limit of a scene without faces is covered; true of a scene with faces, which may be covered whole."""
    return scene["scene"] not in NAMES or scene["covered"] <= LIMIT


def holds(scene):
    """Whether both hold of a scene, as `privacy.py --json` reports it."""
    return is_hidden(scene) and is_visible(scene)
