"""A whole OpenStack on this one machine; `make test-openstack` runs these tests."""
