package aferir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What this process does from when it is made until it is printed (proc(5)). */
final class ProcessAccount {
  private final long[] before = now();

  /** Bytes by system calls, and ticks of processors, as lines of YCSB's report. */
  void print() {
    String[] names = {"read", "written", "user ticks", "system ticks"};
    long[] after = now();
    for (int i = 0; i < names.length; i++) {
      System.out.println("[AFERIR], " + names[i] + ", " + (after[i] - before[i]));
    }
  }

  private static long[] now() {
    long[] counts = new long[4];
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/io"))) {
        if (line.startsWith("rchar: ")) {
          counts[0] = Long.parseLong(line.substring(7));
        } else if (line.startsWith("wchar: ")) {
          counts[1] = Long.parseLong(line.substring(7));
        }
      }
      String stat = Files.readString(Path.of("/proc/self/stat"));
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
      counts[2] = Long.parseLong(fields[11]);
      counts[3] = Long.parseLong(fields[12]);
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
    return counts;
  }
}
