// L100: 100 terminals that drive past three LTE cells of 10 MHz, in ns-3, each with 0.48 Mbit/s down and 40 kbit/s up.
// There is no fading, which crates/cell/examples/drive.rs has, and RLC does not repeat: with AM, ns-3 delivers 38 % of the
// packets of a minute. Prints the packets received.
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

static uint64_t received = 0;

static void receive(Ptr<const Packet>, const Address&) { ++received; }

int
main(int argc, char* argv[])
{
    const uint32_t count = 100;
    double seconds = 60;
    CommandLine options;
    options.AddValue("seconds", "simulated time", seconds);
    options.Parse(argc, argv);

    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping", EnumValue(LteEnbRrc::RLC_UM_ALWAYS));
    // Sounding of all terminals that may be in one cell at once.
    Config::SetDefault("ns3::LteEnbRrc::SrsPeriodicity", UintegerValue(160));
    auto lte = CreateObject<LteHelper>();
    auto core = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(core);
    lte->SetSchedulerType("ns3::PfFfMacScheduler");
    lte->SetHandoverAlgorithmType("ns3::A3RsrpHandoverAlgorithm");
    lte->SetAttribute("PathlossModel", StringValue("ns3::LogDistancePropagationLossModel"));
    lte->SetEnbDeviceAttribute("DlBandwidth", UintegerValue(50));
    lte->SetEnbDeviceAttribute("UlBandwidth", UintegerValue(50));

    NodeContainer server(1), stations(3), terminals(count);
    auto sites = CreateObject<ListPositionAllocator>();
    for (double x : {0.0, 500.0, 1000.0}) sites->Add(Vector(x, 0, 0));
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(sites);
    mobility.Install(stations);
    mobility.Install(server);
    mobility.SetMobilityModel("ns3::ConstantVelocityMobilityModel");
    mobility.Install(terminals);
    for (uint32_t n = 0; n < count; ++n)
    {
        auto drive = terminals.Get(n)->GetObject<ConstantVelocityMobilityModel>();
        drive->SetPosition(Vector(10.0 * n, 30, 0));
        drive->SetVelocity(Vector(30 / 3.6, 0, 0));
    }

    InternetStackHelper internet;
    internet.Install(server);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("10Gb/s"));
    wire.SetChannelAttribute("Delay", StringValue("10ms"));
    Ipv4AddressHelper addresses("1.0.0.0", "255.0.0.0");
    const Ipv4InterfaceContainer wired = addresses.Assign(wire.Install(core->GetPgwNode(), server.Get(0)));
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(server.Get(0)->GetObject<Ipv4>())->AddNetworkRouteTo("7.0.0.0", "255.0.0.0", 1);
    const NetDeviceContainer cells = lte->InstallEnbDevice(stations);
    const NetDeviceContainer devices = lte->InstallUeDevice(terminals);
    internet.Install(terminals);
    const Ipv4InterfaceContainer phones = core->AssignUeIpv4Address(devices);
    for (uint32_t n = 0; n < count; ++n)
    {
        routing.GetStaticRouting(terminals.Get(n)->GetObject<Ipv4>())
            ->SetDefaultRoute(core->GetUeDefaultGatewayAddress(), 1);
        lte->Attach(devices.Get(n), cells.Get(n / 34));
    }
    lte->AddX2Interface(stations);

    PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    sink.Install(terminals);
    sink.Install(server);
    for (uint32_t n = 0; n < count; ++n)
    {
        UdpClientHelper down(phones.GetAddress(n), 9);
        down.SetAttribute("MaxPackets", UintegerValue(4000000000U));
        down.SetAttribute("PacketSize", UintegerValue(1200 - 28));
        down.SetAttribute("Interval", TimeValue(MilliSeconds(20)));
        down.Install(server.Get(0)).Start(MilliSeconds(500 + n % 2 * 10));
        UdpClientHelper up(wired.GetAddress(1), 9);
        up.SetAttribute("MaxPackets", UintegerValue(4000000000U));
        up.SetAttribute("PacketSize", UintegerValue(200 - 28));
        up.SetAttribute("Interval", TimeValue(MilliSeconds(40)));
        up.Install(terminals.Get(n)).Start(MilliSeconds(500 + n % 4 * 10));
    }
    Config::ConnectWithoutContext("/NodeList/*/ApplicationList/*/$ns3::PacketSink/Rx", MakeCallback(&receive));
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << received << std::endl;
    Simulator::Destroy();
}
