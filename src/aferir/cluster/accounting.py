"""Generates what Slurm's accounting takes on the front end: slurmdbd and its database; pure.

Sources: slurmdbd.conf(5), and "Accounting and Resource Limits" of Slurm's documentation.
"""

from __future__ import annotations

from aferir.cluster.configuration import FOLDER
from aferir.cluster.description import FRONT

PACKAGES = ("mariadb-client-core", "mariadb-server-core", "slurmdbd")
"""Debian packages that accounting needs, in addition to Slurm's."""
NEEDED = {
    "usr/bin/my_print_defaults": "mariadb-client-core",
    "usr/sbin/mariadbd": "mariadb-server-core",
    "usr/sbin/slurmdbd": "slurmdbd",
}
"""A file of each package, by which a userland that others made is checked."""

START = f"""#!/bin/sh
# Starts Slurm's accounting on the front end. The database is root's, who needs no password there;
# its buffers are small, as the front end also computes.
data=/var/lib/mysql
socket=/run/mysqld/mysqld.sock
common="--no-defaults --user=root --datadir=$data --innodb-log-file-size=32M"
if [ ! -e $data/complete ]; then
  rm -rf $data
  mariadb-install-db $common --skip-test-db --force && : > $data/complete
fi
install -d /run/mysqld
rm -f $socket
mariadbd $common --socket=$socket --skip-networking --skip-log-bin --innodb-use-native-aio=0 \\
  --innodb-buffer-pool-size=32M --innodb-lock-wait-timeout=900 --aria-pagecache-buffer-size=8M \\
  --key-buffer-size=1M --max-connections=32 &
database=$!
until [ -S $socket ]; do kill -0 $database || exit; sleep 0.05; done
install -m 600 {FOLDER}/slurmdbd.conf /etc/slurm/slurmdbd.conf
while kill -0 $database; do slurmdbd -D; sleep 0.5; done >> /var/log/slurm/slurmdbd.log 2>&1 &
until sacctmgr -n show tres > /dev/null 2>&1; do kill -0 $database || exit; sleep 0.1; done
"""
"""Script of the front end, which ends when slurmdbd answers: without it, the controller of a new
cluster does not start. A database whose creation was interrupted is created again. Slurmdbd is
started again where it ends: that of Slurm 24.11 gives up if MariaDB 11.8 has only just started.
"""

SLURMDBD = f"""AuthType=auth/munge
DbdHost={FRONT}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
PidFile=/run/slurmdbd.pid
"""
"""Text of slurmdbd.conf."""

SETTINGS = (
    "AccountingStorageType=accounting_storage/slurmdbd",
    f"AccountingStorageHost={FRONT}",
    "JobAcctGatherType=jobacct_gather/linux",
)
"""Settings of slurm.conf that record jobs, with the CPU time of their processes."""
