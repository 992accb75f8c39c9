// ns-3: 20 TCP NewReno bulk flows over one 100 Mbit/s bottleneck, RTT 40 ms, DropTail of one bandwidth-delay product.
// Usage: dumbbell [--time=60]
// The same network as examples/scenarios/tcp_dumbbell.toml. Debian's ns-3 is built with logging compiled in.
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

int main(int argc, char **argv)
{
  const uint32_t flows = 20, segment = 1448;
  double seconds = 60;
  CommandLine command;
  command.AddValue("time", "simulated seconds", seconds);
  command.Parse(argc, argv);
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));

  NodeContainer routers, senders, receivers;
  routers.Create(2);
  senders.Create(flows);
  receivers.Create(flows);
  InternetStackHelper().InstallAll();

  PointToPointHelper bottleneck, access;
  bottleneck.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
  bottleneck.SetChannelAttribute("Delay", StringValue("18ms"));
  bottleneck.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize("333p")));
  access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
  access.SetChannelAttribute("Delay", StringValue("1ms"));
  access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize("1000p")));

  Ipv4AddressHelper addresses;
  TrafficControlHelper control;
  // Address assignment installs a queue discipline of its own, which would hide the DropTail queue.
  auto connect = [&](PointToPointHelper &link, Ptr<Node> a, Ptr<Node> b, const std::string &base) {
    auto devices = link.Install(a, b);
    addresses.SetBase(base.c_str(), "255.255.255.0");
    auto interfaces = addresses.Assign(devices);
    control.Uninstall(devices);
    return interfaces.GetAddress(1);
  };
  connect(bottleneck, routers.Get(0), routers.Get(1), "10.0.0.0");
  std::vector<Ipv4Address> destinations;
  for (uint32_t i = 0; i < flows; i++) {
    connect(access, senders.Get(i), routers.Get(0), "10.1." + std::to_string(i) + ".0");
    destinations.push_back(connect(access, routers.Get(1), receivers.Get(i), "10.2." + std::to_string(i) + ".0"));
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  auto jitter = CreateObject<UniformRandomVariable>();
  ApplicationContainer sinks;
  for (uint32_t i = 0; i < flows; i++) {
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    sinks.Add(sink.Install(receivers.Get(i)));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(destinations[i], 5000));
    bulk.SetAttribute("SendSize", UintegerValue(segment * 8));
    bulk.Install(senders.Get(i)).Start(Seconds(jitter->GetValue(0, 0.5)));
  }
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < flows; i++) {
    bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
  }
  std::cout << "{\"goodput_mbps\": " << bytes * 8 / seconds / 1e6 << ", \"segments\": " << bytes / segment << "}" << std::endl;
  Simulator::Destroy();
}
