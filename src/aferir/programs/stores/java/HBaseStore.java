package aferir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/** HBase under YCSB: one connection that all client threads share, one family of columns. */
public class HBaseStore extends DB {
  private static final TableName TABLE = TableName.valueOf("records");
  private static final byte[] FAMILY = bytes("f");
  private static Connection connection;
  private static ProcessAccount account;
  private static int users;
  private Table table;

  @Override
  public void init() throws DBException {
    try {
      synchronized (HBaseStore.class) {
        if (users++ == 0) {
          account = new ProcessAccount();
          connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        }
      }
      table = connection.getTable(TABLE);
    } catch (IOException error) {
      throw new DBException(error);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      table.close();
      synchronized (HBaseStore.class) {
        if (--users == 0) {
          connection.close();
          account.print();
        }
      }
    } catch (IOException error) {
      throw new DBException(error);
    }
  }

  @Override
  public Status read(
      String ignored, String key, Set<String> fields, Map<String, ByteIterator> result) {
    try {
      Get get = new Get(bytes(key));
      if (fields != null) {
        fields.forEach(field -> get.addColumn(FAMILY, bytes(field)));
      }
      Result found = table.get(get);
      if (found.isEmpty()) {
        return Status.NOT_FOUND;
      }
      found.getFamilyMap(FAMILY).forEach((name, value) -> result.put(
          new String(name, StandardCharsets.UTF_8), new ByteArrayByteIterator(value)));
      return Status.OK;
    } catch (IOException error) {
      return Status.ERROR;
    }
  }

  @Override
  public Status scan(String ignored, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return Status.NOT_IMPLEMENTED;
  }

  @Override
  public Status update(String ignored, String key, Map<String, ByteIterator> values) {
    Put put = new Put(bytes(key));
    values.forEach((name, value) -> put.addColumn(FAMILY, bytes(name), value.toArray()));
    try {
      table.put(put);
      return Status.OK;
    } catch (IOException error) {
      return Status.ERROR;
    }
  }

  @Override
  public Status insert(String ignored, String key, Map<String, ByteIterator> values) {
    return update(ignored, key, values);
  }

  @Override
  public Status delete(String ignored, String key) {
    try {
      table.delete(new Delete(bytes(key)));
      return Status.OK;
    } catch (IOException error) {
      return Status.ERROR;
    }
  }

  /** `create` makes the table, when the server is up; `count` prints its records. */
  public static void main(String[] given) throws IOException {
    try (Connection own = ConnectionFactory.createConnection(HBaseConfiguration.create())) {
      if (given[0].equals("create")) {
        own.getAdmin().createTable(TableDescriptorBuilder.newBuilder(TABLE)
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY)).build());
        return;
      }
      long count = 0;
      try (Table table = own.getTable(TABLE); ResultScanner all = table.getScanner(new Scan())) {
        while (all.next() != null) {
          count++;
        }
      }
      System.out.println("records: " + count);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
