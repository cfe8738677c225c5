package parley;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Runs the cases of a test program in order, and prints one JSON line for each: {"case", "error"}. */
public final class CaseRunner {
  private static final Gson JSON = new GsonBuilder().disableHtmlEscaping().serializeNulls().create();

  public interface Case {
    void run() throws Exception;
  }

  private CaseRunner() {}

  /** Runs all cases, and ends the process. */
  public static void run(Map<String, Case> cases) {
    cases.forEach(CaseRunner::report);
    // The threads of the SDK would keep the process alive for a minute.
    System.exit(0);
  }

  /** @throws AssertionError with the details if the condition is false. */
  public static void expect(boolean isTrue, Object... details) {
    if (!isTrue) throw new AssertionError(Arrays.deepToString(details));
  }

  private static void report(String name, Case each) {
    String error = null;
    try {
      each.run();
    } catch (Throwable thrown) {
      StringWriter text = new StringWriter();
      thrown.printStackTrace(new PrintWriter(text));
      error = text.toString();
    }
    Map<String, String> line = new LinkedHashMap<>();
    line.put("case", name);
    line.put("error", error);
    System.out.println(JSON.toJson(line));
  }
}
