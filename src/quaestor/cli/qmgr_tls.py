"""`quaestor qmgr tls`: keys and certificates of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from quaestor.cli.numbers import DAYS_MAX
from quaestor.cli.qmgr_place import directory_option, existing, said

if TYPE_CHECKING:
    from quaestor.server.certificates import Made


@click.command("tls")
@click.argument("name")
@directory_option
@click.option("--host", "hosts", multiple=True, help="A name or address clients use.  [default: localhost, 127.0.0.1]")
@click.option(
    "--days", type=click.IntRange(1, DAYS_MAX), default=365, show_default=True, help="How long certificates are valid."
)
@click.option("--client", metavar="USER", help="Make a client's certificate instead, for this user.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for a client's files.")
@click.option(
    "--require-certificate/--no-require-certificate",
    default=None,
    help="Whether clients must show a certificate.  [default: as before; at first they need not]",
)
def tls_command(
    name: str,
    directory: Path | None,
    hosts: tuple[str, ...],
    days: int,
    client: str | None,
    out: Path | None,
    require_certificate: bool | None,
) -> None:
    """Make an authority and a server certificate, and use them from the next start on.

    Clients are given authority.pem. With --client a certificate for one user is made, in its own folder. The authority
    is valid for ten years from its first use on; a certificate that would be valid longer ends with it, and that is
    said.

    \b
    Example:
      quaestor qmgr tls QM1 --host mq.example.com
      quaestor qmgr tls QM1 --client alice --out alice-tls
    """
    from quaestor.server import certificates

    home = existing(name, directory)
    with said():
        if client is not None:
            made = certificates.client(home.directory, client, out or Path(f"{client}-tls"), days)
            click.echo(f"Certificate of {client}: {made.file}")
            _say_end(made)
            return
        made = certificates.server(home.directory, name, hosts or ("localhost", "127.0.0.1"), days)
        required = {} if require_certificate is None else {"require_certificate": require_certificate}
        home.change(certificate="server.pem", key="server.key", authorities="authority.pem", **required)
    click.echo(f"TLS of {name} is set; give clients {home.directory / 'authority.pem'}")
    _say_end(made)
    if home.running_pid() is not None:
        click.echo(f"{name} is running: it uses this from its next start on")


def _say_end(made: "Made") -> None:
    """Until when a certificate is valid that was to be valid longer (CT3)."""
    if made.shortened:
        click.echo(f"{made.file.name} is valid until {made.ends:%Y-%m-%d}, as its authority is")
