package aferir;

import com.sleepycat.je.Cursor;
import com.sleepycat.je.Database;
import com.sleepycat.je.DatabaseConfig;
import com.sleepycat.je.DatabaseEntry;
import com.sleepycat.je.Durability;
import com.sleepycat.je.Environment;
import com.sleepycat.je.EnvironmentConfig;
import com.sleepycat.je.LockMode;
import com.sleepycat.je.OperationStatus;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/** Berkeley DB Java Edition under YCSB: one environment that all client threads share. */
public class BerkeleyDb extends DB {
  private static Environment environment;
  private static Database database;
  private static int users;
  private static ProcessAccount account;

  @Override
  public void init() throws DBException {
    synchronized (BerkeleyDb.class) {
      if (users++ == 0) {
        Properties given = getProperties();
        account = new ProcessAccount();
        open(given.getProperty("je.folder"), Long.parseLong(given.getProperty("je.cache")));
      }
    }
  }

  /** The last thread closes what all share, and says what the process did meanwhile. */
  @Override
  public void cleanup() {
    synchronized (BerkeleyDb.class) {
      if (--users == 0) {
        close();
        account.print();
      }
    }
  }

  @Override
  public Status read(
      String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    DatabaseEntry value = new DatabaseEntry();
    if (database.get(null, entry(key), value, LockMode.DEFAULT) != OperationStatus.SUCCESS) {
      return Status.NOT_FOUND;
    }
    unpack(value.getData()).forEach((name, bytes) -> {
      if (fields == null || fields.contains(name)) {
        result.put(name, new ByteArrayByteIterator(bytes));
      }
    });
    return Status.OK;
  }

  @Override
  public Status scan(String table, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return Status.NOT_IMPLEMENTED;
  }

  /** Reads the record, replaces fields and writes it, all in one transaction. */
  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    com.sleepycat.je.Transaction transaction = environment.beginTransaction(null, null);
    try {
      DatabaseEntry value = new DatabaseEntry();
      if (database.get(transaction, entry(key), value, LockMode.RMW) != OperationStatus.SUCCESS) {
        return Status.NOT_FOUND;
      }
      Map<String, byte[]> all = unpack(value.getData());
      values.forEach((name, bytes) -> all.put(name, bytes.toArray()));
      database.put(transaction, entry(key), new DatabaseEntry(pack(all)));
      transaction.commit();
      transaction = null;
      return Status.OK;
    } finally {
      if (transaction != null) {
        transaction.abort();
      }
    }
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    Map<String, byte[]> all = new HashMap<>();
    values.forEach((name, bytes) -> all.put(name, bytes.toArray()));
    database.put(null, entry(key), new DatabaseEntry(pack(all)));
    return Status.OK;
  }

  @Override
  public Status delete(String table, String key) {
    return database.delete(null, entry(key)) == OperationStatus.SUCCESS
        ? Status.OK : Status.NOT_FOUND;
  }

  /** Prints how many records a database has. */
  public static void main(String[] given) {
    open(given[0], 1 << 24);
    long count = 0;
    try (Cursor cursor = database.openCursor(null, null)) {
      DatabaseEntry key = new DatabaseEntry();
      DatabaseEntry value = new DatabaseEntry();
      while (cursor.getNext(key, value, LockMode.DEFAULT) == OperationStatus.SUCCESS) {
        count++;
      }
    }
    close();
    System.out.println(count);
  }

  private static void open(String folder, long cacheBytes) {
    EnvironmentConfig config = new EnvironmentConfig();
    config.setAllowCreate(true).setTransactional(true).setCacheSize(cacheBytes);
    config.setDurability(Durability.COMMIT_WRITE_NO_SYNC);
    environment = new Environment(new File(folder), config);
    database = environment.openDatabase(
        null, "records", new DatabaseConfig().setAllowCreate(true).setTransactional(true));
  }

  private static void close() {
    database.close();
    environment.close();
  }

  private static DatabaseEntry entry(String key) {
    return new DatabaseEntry(key.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] pack(Map<String, byte[]> fields) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(fields.size());
      for (Map.Entry<String, byte[]> field : fields.entrySet()) {
        out.writeUTF(field.getKey());
        out.writeInt(field.getValue().length);
        out.write(field.getValue());
      }
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
    return bytes.toByteArray();
  }

  private static Map<String, byte[]> unpack(byte[] packed) {
    Map<String, byte[]> fields = new HashMap<>();
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(packed))) {
      for (int left = in.readInt(); left > 0; left--) {
        String name = in.readUTF();
        byte[] value = new byte[in.readInt()];
        in.readFully(value);
        fields.put(name, value);
      }
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
    return fields;
  }
}
