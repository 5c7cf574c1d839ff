"""The conformance program of the Python client; see clients/conformance/README.md."""

import asyncio

from program import Program

asyncio.run(Program().run())
