"""Options that several commands share."""

from __future__ import annotations

import click


class SettingChoice(click.Choice[str]):
    """The sampling settings; whoever leaves them out or misspells one reads what each one means."""

    def __init__(self) -> None:
        super().__init__(["two-sample", "one-sample", "labelled"])

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002
        """Return a sentence a setting."""
        from noneg.checks import explain_settings

        return f"It says how the rows were sampled. {explain_settings()}."

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the setting, or explain all of them."""
        from noneg.checks import SETTINGS, explain_settings

        if value not in SETTINGS:
            self.fail(f"{value!r} is not a setting. {explain_settings()}.", param, ctx)
        return value


setting = click.option(
    "--setting", type=SettingChoice(), required=True, help="How the rows were sampled."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
