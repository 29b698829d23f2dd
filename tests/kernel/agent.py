# SPDX-License-Identifier: GPL-2.0
"""PID 1 of a test guest: runs the commands that vm.py sends over a virtio-serial port.

One JSON object per line in both directions.
  host -> guest   {"op": "run", "id": N, "cmd": "...", "stdin": bool}
                  {"op": "stdin", "id": N, "data": "...", "close": bool}
                  {"op": "kill", "id": N, "sig": N}
                  {"op": "sync", "id": N}
  guest -> host   {"hello": {...}} once, {"beat": N} every second,
                  {"id": N, "out": "..."} as output comes, {"id": N, "rc": N} at the end,
                  {"log": [[level, seconds, text], ...]} kernel log records as they come.
A sync is answered after everything the kernel had logged before it was sent.

The imports are few on purpose: every file is read over 9p by an emulated CPU. When this program
ends the kernel panics, which the host sees at once.
"""
import json
import os
import selectors
import signal
import sys
import time

PORT = "/dev/vport0p1"
CHUNK = 65536


class Job:
    """A running command: its process group is its pid."""

    def __init__(self, ident, pid, out, stdin):
        self.ident, self.pid, self.out, self.stdin = ident, pid, out, stdin


class Agent:
    def __init__(self):
        self.port = os.open(PORT, os.O_RDWR)
        self.kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        self.jobs = {}  # ident -> Job
        self.pending = b""
        self.beats = 0
        self.sel = selectors.DefaultSelector()
        self.sel.register(self.port, selectors.EVENT_READ, self.on_port)
        self.sel.register(self.kmsg, selectors.EVENT_READ, self.on_kmsg)

    def send(self, **message):
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.port, data):]

    def on_port(self):
        data = os.read(self.port, CHUNK)
        if not data:
            time.sleep(0.01)  # the host end is closed: nothing to do but to wait
            return
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            getattr(self, "op_" + message["op"])(message)

    def op_run(self, message):
        r, w = os.pipe()
        os.set_blocking(r, False)
        in_r, in_w = os.pipe() if message.get("stdin") else (os.open("/dev/null", 0), -1)
        actions = [(os.POSIX_SPAWN_DUP2, in_r, 0), (os.POSIX_SPAWN_DUP2, w, 1),
                   (os.POSIX_SPAWN_DUP2, w, 2)]
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", message["cmd"]], os.environ,
                             file_actions=actions, setsid=True, setsigmask=[])
        os.close(w)
        os.close(in_r)
        job = Job(message["id"], pid, r, in_w)
        self.jobs[job.ident] = job
        self.sel.register(r, selectors.EVENT_READ, lambda: self.on_output(job))

    def op_stdin(self, message):
        job = self.jobs.get(message["id"])
        if not job or job.stdin < 0:
            return
        try:
            os.write(job.stdin, message["data"].encode())
        except OSError as error:
            self.send(id=job.ident, out=f"agent: stdin: {error}\n")
        if message["close"]:
            os.close(job.stdin)
            job.stdin = -1

    def op_kill(self, message):
        job = self.jobs.get(message["id"])
        if job:
            try:
                os.killpg(job.pid, message["sig"])
            except ProcessLookupError:
                pass  # it ended meanwhile, the exit is on its way

    def op_sync(self, message):
        self.on_kmsg()
        self.send(id=message["id"], rc=0)

    def on_output(self, job):
        """Returns False when nothing more is there now (or ever)."""
        try:
            data = os.read(job.out, CHUNK)
        except BlockingIOError:
            return False
        if data:
            self.send(id=job.ident, out=data.decode(errors="replace"))
            return True
        self.sel.unregister(job.out)
        os.close(job.out)
        job.out = -1
        return False

    def on_kmsg(self):
        records = []
        while True:
            try:
                record = os.read(self.kmsg, 8192).decode(errors="replace")
            except BlockingIOError:
                break
            except BrokenPipeError:
                records.append([1, 0, "WARNING: agent: kernel log records were overwritten"])
                continue
            head, _, text = record.partition(";")
            prio, _, stamp, *_ = head.split(",")
            records.append([int(prio) & 7, int(stamp) / 1e6, text.split("\n")[0]])
        if records:
            self.send(log=records)

    def reap(self):
        """Collects our commands and, as PID 1, everybody's orphans."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            job = next((j for j in self.jobs.values() if j.pid == pid), None)
            if job:
                self.finish(job, os.waitstatus_to_exitcode(status))

    def finish(self, job, code):
        # A background child may hold the pipe open: take what is there, do not wait for the end.
        while job.out >= 0 and self.on_output(job):
            pass
        if job.out >= 0:
            self.sel.unregister(job.out)
            os.close(job.out)
        if job.stdin >= 0:
            os.close(job.stdin)
        del self.jobs[job.ident]
        self.send(id=job.ident, rc=code if code >= 0 else 128 - code)

    def loop(self):
        r, w = os.pipe()
        os.set_blocking(r, False)
        os.set_blocking(w, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(w)
        self.sel.register(r, selectors.EVENT_READ, lambda: os.read(r, 4096))
        beat = time.monotonic()
        self.send(hello={"python": sys.version.split()[0], "uptime": time.clock_gettime(7)})
        while True:
            for key, _ in self.sel.select(max(0, beat - time.monotonic())):
                # A handler before this one may have closed its file.
                if key.fd in self.sel.get_map():
                    key.data()
            self.reap()
            if time.monotonic() >= beat:
                beat += 1
                self.beats += 1
                self.send(beat=self.beats)


def main():
    os.environ.update(json.loads(os.environ.pop("PF_ENV", "{}")))
    os.chdir(os.environ.pop("PF_CWD", "/"))
    # Ahead of ordinary tasks, so that silence means a hang and not a busy guest; not inherited.
    os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(10))
    Agent().loop()


main()
