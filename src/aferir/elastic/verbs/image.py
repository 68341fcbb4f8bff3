"""Make the image of a Node for a cloud: a kernel, an initramfs, and a disk.

The Node gets its address by DHCP and serves one video by NGINX. Clouds that boot guests from a
kernel in their image store need all three files. All others take a disk that boots by itself, by
BIOS and by UEFI, from virtio, IDE, SATA, NVMe, SCSI and Xen's disks (`--form disk`): EC2 imports
`--disk raw` or `vhd`, VirtualBox attaches `vdi` (give the guest a serial port or none, and DHCP):

  aws ec2 import-snapshot --disk-container Format=RAW,UserBucket={S3Bucket=B,S3Key=node.raw}
  aws ec2 register-image --name aferir-node --architecture x86_64 --virtualization-type hvm
    --ena-support --root-device-name /dev/xvda
    --block-device-mappings DeviceName=/dev/xvda,Ebs={SnapshotId=ID}

LXD needs one archive, and sets the address:

  lxc image import node.tar --alias aferir-node

`--form user-data` makes no image: it writes the video, which you put where `--source` says that
instances find it, and what makes a Node of a stock image: user data for cloud-init (`user-data`)
and for Ignition (`config.ign`).

OpenStack, for example:

  openstack image create --disk-format aki --container-format aki --file vmlinuz aferir-kernel
  openstack image create --disk-format ari --container-format ari --file initramfs.img aferir-start
  openstack image create --disk-format qcow2 --container-format bare --file node.qcow2
    --property kernel_id=ID --property ramdisk_id=ID --property hw_vif_model=virtio
    --property hw_disk_bus=virtio --property os_command_line="console=ttyS0 quiet" aferir-node

example:
  aferir elastic image node --video 30
  aferir elastic image node --form disk --disk vdi
  aferir elastic image node --form lxd
  aferir elastic image node --form user-data --source http://10.0.0.1/video.mp4
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from aferir.elastic.verbs.options import video_of
from aferir.errors import UsageError

DISK_FORMS = ("qcow2", "raw", "vdi", "vhd", "vmdk")

NAME = "image"
HELP = "the image of a Node, for a cloud"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir elastic image`."""
    from aferir.cli.parameters import add_options
    from aferir.elastic.program import VideoParameters

    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="folder for the files; made if it is missing")
    add_options(parser, VideoParameters)
    add(
        "--form",
        choices=("guest", "disk", "lxd", "user-data"),
        default="guest",
        help="kernel, initramfs and disk; a disk that boots by itself; for LXD; or user data for a "
        "stock image (default: guest)",
    )
    add("--disk", choices=DISK_FORMS, default="qcow2", help="format of a disk that boots by itself")
    add("--source", metavar="URL", help="with --form user-data: where instances find the video")
    add("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Create the image and print its files."""
    import tempfile

    import msgspec

    from aferir.cli.parameters import read_options
    from aferir.clouds.node_image import make, make_archive, make_disk
    from aferir.elastic.node import alone, template
    from aferir.elastic.program import VideoParameters
    from aferir.elastic.segments import make as make_video

    video = video_of(read_options(VideoParameters, options))
    if (options.form == "user-data") != bool(options.source):
        raise UsageError(
            "--source and --form user-data: one without the other has no effect",
            remedy="say where instances find the video",
        )
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="aferir-elastic-") as name:
        folder = Path(name)
        served = make_video(video, folder)
        node = template(served, folder, sent_bps=video.limit_bps)
        if options.form == "user-data":
            files = _user_data(served, options, alone(video).limit_bps)
        elif options.form == "lxd":
            files = {"archive": str(make_archive(node, options.folder, _tell))}
        elif options.form == "disk":
            files = {"disk": str(make_disk(node, options.folder, options.disk, _tell))}
        else:
            made = make(node, options.folder, _tell)
            files = {field: str(path) for field, path in msgspec.structs.asdict(made).items()}
    if options.json:
        print(msgspec.json.encode(files).decode())
        return 0
    for field, path in files.items():
        print(f"{field:12} {path}")
    return 0


def _user_data(video: Path, options: argparse.Namespace, sent_bps: int) -> dict[str, str]:
    """Write the video, and what instances of a stock image are told; returns the paths."""
    import shutil

    from aferir.clouds.context import cloud_config, ignition
    from aferir.elastic.node import content

    told = content(options.source, sent_bps=sent_bps)
    made = {
        "cloud-init": options.folder / "user-data",
        "ignition": options.folder / "config.ign",
        "video": options.folder / video.name,
    }
    made["cloud-init"].write_text(cloud_config(told), encoding="utf-8")
    made["ignition"].write_text(ignition(told), encoding="utf-8")
    shutil.copyfile(video, made["video"])
    return {field: str(path) for field, path in made.items()}


def _tell(said: str) -> None:
    print(said, file=sys.stderr, flush=True)
