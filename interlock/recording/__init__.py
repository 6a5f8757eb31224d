"""Runs written down at the ports, and run again through the real phases, to the byte.

A recording holds all that the world answered a run, and the transcript and trace that came of it.
Where a port ends the recorded world begins: what a service does behind its port is not run again.
Read `form` for the file, `recorder` and `wrapped` for how it is made. `rerun` and `player` give it
back, and `scrub` takes secrets out of it: modules of their own, to be imported by who uses them,
since a run that is only recorded would spend 20 ms on them.
"""

from interlock.recording.form import Recording, RecordingError
from interlock.recording.reading import beside, read_recording
from interlock.recording.recorder import NotRecorded, Recorder, Recorders, Recordings

__all__ = [
    "NotRecorded",
    "Recorder",
    "Recorders",
    "Recording",
    "RecordingError",
    "Recordings",
    "beside",
    "read_recording",
]
