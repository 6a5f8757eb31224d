"""Runs written down at the ports, and run again through the real phases, to the byte.

A recording holds all that the world answered a run, and the transcript and trace that came of it.
Where a port ends the recorded world begins: what a service does behind its port is not run again.
Read `form` for the file, `recorder` and `wrapped` for how it is made, `player` for how it is
given back.
"""

from interlock.recording.form import Recording, RecordingError
from interlock.recording.reading import beside, read_recording
from interlock.recording.recorder import NotRecorded, Recorder, Recorders, Recordings
from interlock.recording.rerun import Rerun, rerun
from interlock.recording.scrub import scrubbed

__all__ = [
    "NotRecorded",
    "Recorder",
    "Recorders",
    "Recording",
    "RecordingError",
    "Recordings",
    "Rerun",
    "beside",
    "read_recording",
    "rerun",
    "scrubbed",
]
