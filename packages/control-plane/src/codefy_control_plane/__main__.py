"""``python -m codefy_control_plane`` is ``codefy``."""

from codefy_control_plane.cli import main

if __name__ == "__main__":
    main()
