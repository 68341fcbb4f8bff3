"""Configuration files of a one-host OpenStack: everything on 127.0.0.1 but the instances' network.

Source: OpenStack's installation guides for Zed, and what a host without systemd and without Open
vSwitch needs beyond them.
"""

from __future__ import annotations

from collections.abc import Mapping

HOST = "controller"
PASSWORD = "of-a-test-that-is-gone-soon"  # noqa: S105 - of a cloud that listens on a private network
NETWORK = "10.79.0"
PROVIDER_PORT = "prov0"
"""Name of the interface on the instances' bridge; its other end is ours."""
AUTH_URL = "http://127.0.0.1:5000/v3"
_BUS = f"transport_url = rabbit://openstack:{PASSWORD}@127.0.0.1:5672/"

PACKAGES = (
    *("ca-certificates", "iproute2", "procps", "sudo", "python3-openstackclient"),
    *("keystone", "glance-api", "placement-api", "uwsgi-plugin-python3"),
    *("nova-api", "nova-conductor", "nova-scheduler", "nova-compute", "nova-compute-qemu"),
    *("neutron-server", "neutron-linuxbridge-agent", "neutron-dhcp-agent"),
    *("memcached", "rabbitmq-server", "mariadb-server", "libvirt-daemon-system", "libvirt-clients"),
    *("qemu-system-x86", "qemu-utils"),
)


def _database(user: str, name: str = "") -> str:
    return f"connection = mysql+pymysql://{user}:{PASSWORD}@127.0.0.1/{name or user}"


def _user(section: str, more: str = "") -> str:
    """Whom a service is for the others; one user for all."""
    return f"""[{section}]
auth_url = {AUTH_URL}
www_authenticate_uri = {AUTH_URL}
auth_type = password
project_domain_name = Default
user_domain_name = Default
project_name = admin
username = admin
password = {PASSWORD}
memcached_servers = 127.0.0.1:11211
region_name = RegionOne
{more}
"""


_KEYSTONE = f"""[database]
{_database("keystone")}
[token]
provider = fernet
[cache]
enabled = true
backend = dogpile.cache.memcached
memcache_servers = 127.0.0.1:11211
[identity]
# Passwords are checked for every token, and the usual cost is for an Internet that listens.
password_hash_rounds = 4
"""

_GLANCE = f"""[DEFAULT]
bind_host = 127.0.0.1
workers = 1
[database]
{_database("glance")}
{_user("keystone_authtoken")}
[paste_deploy]
flavor = keystone
[glance_store]
stores = file
default_store = file
filesystem_store_datadir = /var/lib/glance/images/
"""

_PLACEMENT = f"""[placement_database]
{_database("placement")}
[api]
auth_strategy = keystone
{_user("keystone_authtoken")}
"""

_NOVA_COMMON = f"""[DEFAULT]
{_BUS}
my_ip = 127.0.0.1
compute_driver = libvirt.LibvirtDriver
enabled_apis = osapi_compute
osapi_compute_listen = 127.0.0.1
osapi_compute_workers = 1
force_raw_images = false
state_path = /var/lib/nova
[api]
auth_strategy = keystone
[conductor]
workers = 1
[scheduler]
workers = 1
[glance]
api_servers = http://127.0.0.1:9292
[oslo_concurrency]
lock_path = /var/lib/nova/tmp
[vnc]
enabled = false
{_user("keystone_authtoken")}
{_user("neutron")}
{_user("placement")}
{_user("service_user", "send_service_user_token = true")}
[libvirt]
virt_type = qemu
cpu_mode = none
inject_partition = -2
"""

_NOVA = f"""{_NOVA_COMMON}
[api_database]
{_database("nova", "nova_api")}
[database]
{_database("nova")}
"""

_NEUTRON = f"""[DEFAULT]
{_BUS}
bind_host = 127.0.0.1
api_workers = 1
rpc_workers = 1
core_plugin = ml2
service_plugins =
auth_strategy = keystone
notify_nova_on_port_status_changes = true
notify_nova_on_port_data_changes = true
dhcp_agents_per_network = 1
[experimental]
linuxbridge = true
[database]
{_database("neutron")}
[oslo_concurrency]
lock_path = /var/lib/neutron/tmp
{_user("keystone_authtoken")}
{_user("nova")}
"""

_ML2 = """[ml2]
type_drivers = flat
tenant_network_types =
mechanism_drivers = linuxbridge
extension_drivers = port_security
[ml2_type_flat]
flat_networks = prov
"""

_BRIDGE_AGENT = f"""[linux_bridge]
physical_interface_mappings = prov:{PROVIDER_PORT}
[vxlan]
enable_vxlan = false
[securitygroup]
enable_security_group = false
firewall_driver = noop
[agent]
polling_interval = 1
"""

_DHCP_AGENT = """[DEFAULT]
interface_driver = linuxbridge
dhcp_driver = neutron.agent.linux.dhcp.Dnsmasq
enable_isolated_metadata = false
resync_interval = 5
"""

_RABBIT = f"""default_user = openstack
default_pass = {PASSWORD}
listeners.tcp.1 = 127.0.0.1:5672
"""

# Emulators have no control groups, no security module and no mount namespaces of their own here.
_QEMU = """namespaces = []
cgroup_controllers = []
security_driver = "none"
remember_owner = 0
user = "root"
group = "root"
"""

FILES: Mapping[str, str] = {
    "/etc/hostname": f"{HOST}\n",
    "/etc/hosts": f"127.0.0.1 localhost {HOST}\n",
    "/etc/keystone/keystone.conf": _KEYSTONE,
    "/etc/glance/glance-api.conf": _GLANCE,
    "/etc/placement/placement.conf": _PLACEMENT,
    "/etc/nova/nova.conf": _NOVA,
    "/etc/nova/nova-compute-alone.conf": _NOVA_COMMON,
    "/etc/neutron/neutron.conf": _NEUTRON,
    "/etc/neutron/plugins/ml2/ml2_conf.ini": _ML2,
    "/etc/neutron/plugins/ml2/linuxbridge_agent.ini": _BRIDGE_AGENT,
    "/etc/neutron/dhcp_agent.ini": _DHCP_AGENT,
    "/etc/rabbitmq/rabbitmq.conf": _RABBIT,
    "/etc/rabbitmq/rabbitmq-env.conf": f"NODENAME=rabbit@{HOST}\n",
    "/etc/libvirt/qemu.conf": _QEMU,
}
"""Configuration files, by path in the tree."""

VARIABLES: Mapping[str, str] = {
    "OS_AUTH_URL": AUTH_URL,
    "OS_USERNAME": "admin",
    "OS_PASSWORD": PASSWORD,
    "OS_PROJECT_NAME": "admin",
    "OS_USER_DOMAIN_NAME": "Default",
    "OS_PROJECT_DOMAIN_NAME": "Default",
    "OS_REGION_NAME": "RegionOne",
    "OS_IDENTITY_API_VERSION": "3",
}
"""Environment variables that a client needs."""
