"""The rules of conftest.py: tests stay on this machine and see real datasets only when marked."""

import os
import socket
import urllib.request

import pytest

from kgnn.graphs.loading import load


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.invalid", 443)])
def test_a_connection_to_another_machine_fails_the_test(address):
    with pytest.raises(pytest.fail.Exception, match="this machine only"):
        socket.create_connection(address, timeout=1)


def test_so_does_a_download_whatever_the_code_catches():
    with pytest.raises(pytest.fail.Exception, match="carries the marker 'data'"):
        load("MUTAG")


def test_and_a_datagram():
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        pytest.raises(pytest.fail.Exception, match="this machine only"),
    ):
        datagrams.sendto(b"", ("192.0.2.1", 9))


def test_this_machine_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=1).close()


def test_processes_are_given_a_proxy_that_is_not_there():
    assert urllib.request.getproxies()["https"] == "http://127.0.0.1:1"


def test_a_test_without_the_marker_does_not_see_the_datasets():
    assert "KGNN_DATASETS" not in os.environ


@pytest.mark.data
def test_a_marked_test_sees_them(datasets_folder):
    assert len(load("MUTAG")) == 188
    assert os.environ["KGNN_DATASETS"] == str(datasets_folder)
