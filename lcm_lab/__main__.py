"""``python -m lcm_lab`` is the command ``lcm-lab``."""

from lcm_lab.cli.main import run

if __name__ == "__main__":
    run()
